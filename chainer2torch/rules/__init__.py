"""Rules as data: rows, tables, signatures, codes."""
