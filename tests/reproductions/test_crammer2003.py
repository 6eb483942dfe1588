"""What the reports say of numbers that are, and are not, the printed ones."""

import pytest
from reproductions import crammer2003_printed as printed
from reproductions import named
from reproductions.results import Results


def results(name, rows, further=(), draws=()):
    """Results that hold just these errors and counts, in file order and again as every random order (or draw)."""

    def cells(shift, seeds):
        return [
            {
                "learner": label,
                "seed": seed,
                "test_errors": [(error + shift * sign) / 100 for error in row.errors],
                "updates": list(row.counts),
                "support": list(row.counts),
            }
            for label, row in {**rows, **dict.fromkeys(further, rows["MIRA"])}.items()
            for sign, seed in zip((-1, 1), seeds, strict=False)
        ]

    if draws:
        labels = {f"{name}, draw {k}": cells(0.1 * k, (None,)) for k in draws}
    else:
        labels = {f"{name}, file order": cells(0.0, (None,)), f"{name}, random orders": cells(0.2, (0, 1))}
    experiments = [{"label": label, "setting": {"rows": 9}, "cells": found} for label, found in labels.items()]
    return Results({"quick": False, "versions": {}, "not_run": [], "experiments": experiments}, [])


def test_the_printed_numbers_are_recognised():
    verdicts = named("crammer2003-table4").report(results("USPS", printed.USPS)).verdicts
    assert all("10 of 10 printed numbers" in verdict for verdict in verdicts[1:])
    assert all("5 of 5 printed errors lie within two standard deviations" in verdict for verdict in verdicts[1:])
    assert len(verdicts) == 6
    assert verdicts[0] == (
        "50 of 50 printed numbers come out to the last digit in file order; over 2 random orders 25 of 25 printed "
        "errors lie within two standard deviations of our mean. Least error of the five: MIRA, 4.58 %, then "
        "Perceptron, 4.83 %; as the paper has it."
    )


def test_other_numbers_are_not():
    off = printed.USPS["Max"]._replace(counts=(*printed.USPS["Max"].counts[:-1], 648))
    better = printed.USPS["Uniform"]._replace(errors=(6.73, 5.53, 5.38, 5.48, 4.43))
    verdicts = (
        named("crammer2003-table4").report(results("USPS", {**printed.USPS, "Max": off, "Uniform": better})).verdicts
    )
    assert verdicts[2].startswith("Uniform: 9 of 10")
    assert "4.43 % against the printed 5.43 %" in verdicts[2]
    assert verdicts[3].startswith("Max: 9 of 10")
    assert "648 updates against 647" in verdicts[3]
    assert verdicts[0].startswith("48 of 50 printed numbers")
    assert verdicts[0].endswith("Uniform, 4.43 %, then MIRA, 4.58 %; where the paper has MIRA.")


def test_two_counts_of_a_tie_are_allowed_where_rounding_decides():
    rows = printed.LETTER
    moved = {"MIRA": 2, "Max": 2}
    rows = {
        label: row._replace(counts=tuple(count + moved.get(label, 0) for count in row.counts))
        for label, row in rows.items()
    }
    verdicts = named("crammer2003-table5").report(results("Letter", rows)).verdicts
    assert verdicts[5].startswith("MIRA: 10 of 10")
    assert verdicts[3].startswith("Max: 5 of 10")


def test_a_printed_row_from_another_setting_is_marked():
    rows = {**printed.MNIST, "Prop": printed.MNIST["Prop"]._replace(counts=(2772, 3348, 3528))}
    verdicts = named("crammer2003-table3").report(results("MNIST", rows)).verdicts
    assert verdicts[0].startswith("27 of 30 printed numbers")
    assert "12 of 12 printed errors" in verdicts[0]
    assert "(Prop left out" in verdicts[0]
    assert verdicts[4].startswith("Prop: 3 of 6")
    assert verdicts[4].endswith("The printed row comes from a setting that is not that of the other rows.")


def test_draws_are_held_against_their_deviation():
    report = named("crammer2003-table2").report(results("Chess-Board", printed.CHESS, draws=range(3)))
    assert report.verdicts[0].startswith(
        "25 of 25 printed errors lie within two standard deviations of our mean. Least"
    )
    assert "over 3 draws" in report.lead
    assert "distinct support patterns" in report.tables[0].lines[2][1]


def test_rows_that_the_paper_does_not_have_are_shown_without_it():
    report = named("crammer2003-table4").report(results("USPS", printed.USPS, further=["ALMA"]))
    assert [line[1] for line in report.tables[0].lines if line[0] == "ALMA"] == [
        "error %, ours", "error %, ours, random orders", "updates, ours", "updates, ours, random orders",
    ]  # fmt: skip


def test_ratios_of_the_printed_numbers_are_the_papers():
    record = results("USPS", printed.USPS)
    report = named("crammer2003-figures").report(record)
    assert report.tables[0].titles[3:] == ("USPS",)
    for line in report.tables[0].lines:
        paper, ours = line[3].split(" / ")
        assert float(paper) == pytest.approx(float(ours))
    assert report.verdicts[0] == "MIRA errs least of the five after the last epoch on 1 of 1 sets; in the paper on 1."
    assert "USPS 0.81 (paper 0.81)" in report.verdicts[1]
