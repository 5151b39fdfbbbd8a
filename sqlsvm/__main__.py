"""`python -m sqlsvm` is `sqlsvm`."""

from sqlsvm.cli import main

if __name__ == "__main__":
    main()
