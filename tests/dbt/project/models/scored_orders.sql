{{ config(materialized='sqlsvm_score', meta={'model': 'returns'}) }}
-- depends_on: {{ ref('returns') }}
SELECT o.id, o.returned, o.amount, c.age
FROM {{ ref('orders') }} AS o JOIN {{ ref('customers') }} AS c ON c.id = o.customer_id
