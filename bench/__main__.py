"""`python -m bench`: the ratios of this checkout."""

from bench.run import main

main()
