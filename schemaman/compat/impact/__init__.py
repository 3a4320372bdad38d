"""Finds which columns the SQL of consumers reads, in which role, and through which views."""
