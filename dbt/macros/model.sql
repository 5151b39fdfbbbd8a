{#- A table of one row: the certificate of a model that is trained on the rows of the query, its measures, and its score
    as SQL. A run fails if the training does not converge, and the old table stays. #}
{% materialization sqlsvm_model, adapter='duckdb' %}
  {%- set target = this.incorporate(type='table') -%}
  {{ run_hooks(pre_hooks) }}
  {% call statement('main', language='python') %}{{ sqlsvm.training_in_python(target, compiled_code) }}{% endcall %}
  {{ run_hooks(post_hooks) }}
  {{ adapter.commit() }}
  {{ return({'relations': [target]}) }}
{% endmaterialization %}


{% materialization sqlsvm_model, adapter='postgres' %}
  {%- set target = this.incorporate(type='table') -%}
  {%- set name = sqlsvm.setting('name', model.name) -%}
  {{ run_hooks(pre_hooks) }}
  {%- do sqlsvm.check_program(name, compiled_code) -%}
  {%- set trained = run_query(sqlsvm.train_statement(name)).rows[0] -%}
  {%- if not trained['converged'] -%}
    {{ sqlsvm.refuse_gap(name, trained['passes'], trained['gap']) }}
  {%- endif -%}
  {%- set old = load_cached_relation(this) -%}
  {%- if old is not none -%}{%- do adapter.drop_relation(old) -%}{%- endif -%}
  {% call statement('main') %}
    CREATE TABLE {{ target }} AS
    SELECT {{ sqlsvm.literal(name) }}::text AS model, {{ trained['version'] }} AS version, {{ trained['passes'] }} AS passes,
      {{ trained['objective'] }}::float8 AS objective, {{ trained['lower_bound'] }}::float8 AS lower_bound,
      {{ trained['gap'] }}::float8 AS gap, TRUE AS converged,
      (SELECT jsonb_object_agg(e.measure, e.value)::text FROM sqlsvm.evaluate({{ sqlsvm.literal(name) }}) AS e) AS measures,
      sqlsvm.score_sql({{ sqlsvm.literal(name) }}, {{ trained['version'] }}) AS score_sql,
      clock_timestamp() AS trained_at
  {% endcall %}
  {{ run_hooks(post_hooks) }}
  {{ adapter.commit() }}
  {{ return({'relations': [target]}) }}
{% endmaterialization %}
