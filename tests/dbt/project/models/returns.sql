{{ config(materialized='sqlsvm_model', meta={'label': 'returned', 'options': {'nulls': 'mean'}}) }}
SELECT o.returned, o.amount, c.age
FROM {{ ref('orders') }} AS o JOIN {{ ref('customers') }} AS c ON c.id = o.customer_id
