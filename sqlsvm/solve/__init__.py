"""The numerical solvers. They see an oracle and numpy, never SQL. Each is called
`solve(oracle, penalty, effort, on_pass=, state=, on_state=) -> Solution`."""
