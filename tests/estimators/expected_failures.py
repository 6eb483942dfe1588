"""scikit-learn's checks of weights that no online learner meets, with the reason, as its own SGDClassifier has them."""

SHUFFLED = {
    f"check_sample_weight_equivalence_on_{kind}_data": "a shuffled pass meets copies of a row in many places"
    for kind in ("dense", "sparse")
}
# Checked with more passes in test_contract.
FEW_PASSES = {"check_class_weight_classifiers": "scikit-learn gives its own learners 1000 passes, not five"}
GEOMETRY = {
    f"check_sample_weights_{what}": "its step is geometry: it takes only the weights 0 and 1"
    for what in ("list", "not_overwritten")
}
EXPECTED = SHUFFLED | FEW_PASSES | GEOMETRY
