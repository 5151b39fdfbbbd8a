{#- A test of a trained model: it fails if the best possible weights may be better by more than this share. #}
{% test sqlsvm_certified(model, at_most=0.001) %}
SELECT * FROM {{ model }} WHERE NOT converged OR gap > {{ at_most }}
{% endtest %}
