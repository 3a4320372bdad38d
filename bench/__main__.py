"""`python -m bench` prints the ratios of this checkout."""

from bench.run import main

main()
