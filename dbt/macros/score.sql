{#- A view of the rows of the query with one more column, the score of a model. The query has the features as columns.
    The view has the weights of the last training, so it has to be made again after each. #}
{% materialization sqlsvm_score, default %}
  {%- set target = this.incorporate(type='view') -%}
  {%- set trained = ref(sqlsvm.setting('model')) -%}
  {{ run_hooks(pre_hooks) }}
  {%- set score = run_query('SELECT score_sql FROM ' ~ trained).rows[0][0] -%}
  {%- set old = load_cached_relation(this) -%}
  {%- if old is not none -%}{%- do adapter.drop_relation(old) -%}{%- endif -%}
  {% call statement('main') %}
    CREATE VIEW {{ target }} AS
    SELECT sqlsvm_rows.*, {{ score }} AS score FROM (
      {{ compiled_code }}
    ) AS sqlsvm_rows
  {% endcall %}
  {{ run_hooks(post_hooks) }}
  {{ adapter.commit() }}
  {{ return({'relations': [target]}) }}
{% endmaterialization %}
