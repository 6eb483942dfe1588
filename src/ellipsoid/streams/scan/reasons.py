"""Why a scan stopped: at the end of its text, before a row for which there was no room, or at a flaw."""

NO_FLAW, FULL = range(2)
NO_LABEL, NO_VALUE = range(2, 4)
# Of svmlight text.
NO_INDEX, NO_COLON, NOT_RISING, TOO_WIDE, ZERO_INDEX, MANY_LABELS = range(4, 10)
# Of a table.
TOO_FEW, TOO_MANY, NOT_A_NUMBER, MISSING, BAD_QUOTE = range(10, 15)
# Of Vowpal Wabbit text.
NO_BAR, NO_NAME, OVERFLOW, NO_WEIGHT = range(15, 19)
