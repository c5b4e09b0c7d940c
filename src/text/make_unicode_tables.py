#!/usr/bin/env python3
"""Prints unicode_tables.inc: the ranges of code points that are letters and numbers (general categories L* and N*).

  src/text/make_unicode_tables.py > src/text/unicode_tables.inc
"""
import sys
import unicodedata


def ranges(first_letter):
    begin = None
    for point in range(sys.maxunicode + 2):
        inside = point <= sys.maxunicode and unicodedata.category(chr(point))[0] == first_letter
        if inside and begin is None:
            begin = point
        if not inside and begin is not None:
            yield begin, point - 1
            begin = None


print(f"// Unicode {unicodedata.unidata_version}; made by make_unicode_tables.py.")
for name, letter in (("letters", "L"), ("numbers", "N")):
    print(f"constexpr CodeRange {name}[] = {{")
    line = "   "
    for begin, end in ranges(letter):
        word = f" {{0x{begin:x}, 0x{end:x}}},"
        if len(line) + len(word) > 100:
            print(line)
            line = "   "
        line += word
    print(line)
    print("};")
