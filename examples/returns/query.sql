SELECT r.sr_ticket_number IS NOT NULL AS returned,
       s.ss_sold_date_sk,
       s.ss_quantity, s.ss_wholesale_cost, s.ss_list_price, s.ss_sales_price, s.ss_coupon_amt,
       i.i_category, i.i_current_price,
       c.c_birth_year, cd.cd_gender, cd.cd_marital_status, cd.cd_education_status, cd.cd_purchase_estimate,
       hd.hd_buy_potential, hd.hd_dep_count, hd.hd_vehicle_count,
       st.s_floor_space, d.d_moy, d.d_dow
FROM 'tpcds/store_sales.parquet' s
LEFT JOIN 'tpcds/store_returns.parquet' r ON r.sr_item_sk = s.ss_item_sk AND r.sr_ticket_number = s.ss_ticket_number
JOIN 'tpcds/item.parquet' i ON i.i_item_sk = s.ss_item_sk
JOIN 'tpcds/customer.parquet' c ON c.c_customer_sk = s.ss_customer_sk
JOIN 'tpcds/customer_demographics.parquet' cd ON cd.cd_demo_sk = s.ss_cdemo_sk
JOIN 'tpcds/household_demographics.parquet' hd ON hd.hd_demo_sk = s.ss_hdemo_sk
JOIN 'tpcds/store.parquet' st ON st.s_store_sk = s.ss_store_sk
JOIN 'tpcds/date_dim.parquet' d ON d.d_date_sk = s.ss_sold_date_sk
