{#- The settings of a model are in its `meta`, where dbt allows any key. #}
{% macro setting(key, default=none) -%}
  {%- set value = (config.get('meta') or {}).get(key, default) -%}
  {%- if value is none -%}
    {%- do exceptions.raise_compiler_error("sqlsvm: the model " ~ model.name ~ " needs meta={'" ~ key ~ "': ...} in its config") -%}
  {%- endif -%}
  {{ return(value) }}
{%- endmacro %}


{% macro literal(text) -%}
  {{ return("'" ~ text | replace("'", "''") ~ "'") }}
{%- endmacro %}


{#- The statement that dbt-duckdb runs in this process, on a connection to the database of this run. #}
{% macro training_in_python(target, query) -%}
import json

import sqlsvm

NAME = {{ tojson(sqlsvm.setting('name', model.name)) }}
LABEL = {{ tojson(sqlsvm.setting('label')) }}
OPTIONS = json.loads({{ tojson(tojson(sqlsvm.setting('options', {}))) }})
QUERY = {{ tojson(query) }}
COLUMNS = (
    "CAST(? AS TEXT) AS model, CAST(NULL AS INTEGER) AS version, CAST(? AS INTEGER) AS passes, CAST(? AS DOUBLE) AS objective, "
    "CAST(? AS DOUBLE) AS lower_bound, CAST(? AS DOUBLE) AS gap, TRUE AS converged, CAST(? AS TEXT) AS measures, "
    "CAST(? AS TEXT) AS score_sql, current_timestamp AS trained_at"
)


class dbtObj:
    def __init__(self, load):
        pass


def model(dbt, con):
    from sqlsvm.errors import SqlsvmError

    found = getattr(sqlsvm, {{ tojson(sqlsvm.setting('estimator', 'RelationalSVC')) }})(verbose=False, **OPTIONS)
    found.fit(con.cursor(), QUERY, LABEL)  # a plain connection of duckdb
    if not found.certificate_.converged:
        raise SqlsvmError(f"{NAME}: the gap is {found.gap_:.3g} after {found.n_iter_} passes", hint="allow more: max_passes in options")
    return found, json.dumps(found.evaluate().as_json())


def materialize(trained, con):
    found, measures = trained
    row = [NAME, found.n_iter_, found.objective_, found.lower_bound_, found.gap_, measures, found.score_sql()]
    con.execute({{ tojson("CREATE OR REPLACE TABLE " ~ target ~ " AS SELECT ") }} + COLUMNS, row)
{%- endmacro %}


{% macro train_statement(name) -%}
  {%- set given = sqlsvm.setting('train', {}) -%}
  {%- set arguments = [sqlsvm.literal(name)] -%}
  {%- for key, value in given.items() -%}
    {%- do arguments.append(key ~ ' => ' ~ (sqlsvm.literal(value) if value is string else value)) -%}
  {%- endfor -%}
  {{ return('SELECT * FROM sqlsvm.train(' ~ arguments | join(', ') ~ ')') }}
{%- endmacro %}


{#- dbt-postgres runs no Python, so a program has to be there, and it has to be of this query. #}
{% macro check_program(name, query) -%}
  {%- set file = 'target/compiled/' ~ model.package_name ~ '/' ~ model.original_file_path -%}
  {%- set how = 'type: dbt compile, then sqlsvm compile --query ' ~ file ~ ' --label ' ~ sqlsvm.setting('label') ~ ' --name ' ~ name -%}
  {%- if run_query("SELECT to_regclass('sqlsvm.programs') IS NOT NULL AS there").rows[0][0] is false -%}
    {%- do exceptions.raise_compiler_error('sqlsvm: the SQL functions are not installed in this database; type: sqlsvm install') -%}
  {%- endif -%}
  {%- set found = run_query('SELECT query FROM sqlsvm.programs WHERE name = ' ~ sqlsvm.literal(name)).rows -%}
  {%- if found | length == 0 -%}
    {%- do exceptions.raise_compiler_error('sqlsvm: there is no program ' ~ name ~ '; ' ~ how) -%}
  {%- elif found[0][0].split() != query.split() -%}
    {%- do exceptions.raise_compiler_error('sqlsvm: the program ' ~ name ~ ' is of another query; ' ~ how) -%}
  {%- endif -%}
{%- endmacro %}


{% macro refuse_gap(name, passes, gap) -%}
  {%- do exceptions.raise_compiler_error(
    'sqlsvm: ' ~ name ~ ': the gap is ' ~ gap ~ ' after ' ~ passes ~ " passes; allow more: meta={'train': {'max_passes': ...}}") -%}
{%- endmacro %}
