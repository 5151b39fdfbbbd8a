SELECT
  i.returned,
  i.quantity,
  i.discount,
  o.channel,
  o.express,
  c.age,
  c.segment,
  p.price,
  p.category,
  t.tag,
  v.device,
  v.minutes
FROM sqlsvm_demo.items AS i
JOIN sqlsvm_demo.orders AS o
  ON o.id = i.order_id
JOIN sqlsvm_demo.customers AS c
  ON c.id = o.customer_id
JOIN sqlsvm_demo.products AS p
  ON p.id = i.product_id
JOIN sqlsvm_demo.product_tags AS pt
  ON pt.product_id = i.product_id
JOIN sqlsvm_demo.tags AS t
  ON t.id = pt.tag_id
JOIN sqlsvm_demo.visits AS v
  ON v.customer_id = o.customer_id
