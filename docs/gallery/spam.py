"""A stream of messages: each is labelled first and learned afterwards, and no vocabulary is fixed beforehand.

The messages are put together from the phrases below, so that the example needs no download. Half-way the senders of
spam change what they write.
"""

import random

import ellipsoid

HAM = [
    "are we still on for lunch tomorrow",
    "the report is attached please read section two",
    "can you call me when you are free",
    "the meeting moved to three in the small room",
    "thanks for the photos from the weekend",
    "i will be late the train is not moving",
    "could you review my changes before friday",
    "happy birthday see you tonight",
    "the invoice for march is in the folder",
    "your order of paper has been delivered to the office",
]
EARLY_SPAM = [
    "you have won a free prize click now",
    "cheap watches free delivery order now",
    "claim your free bonus today winner",
    "lose weight fast with this free trial",
    "make money from home no work click here",
]
LATE_SPAM = [
    "your account is locked verify your password",
    "security alert confirm your bank details",
    "final notice pay the parcel fee to get your order",
    "verify your identity or lose access to your account",
    "unusual sign in please confirm your password today",
]
SMALL_TALK = [
    "please", "today", "the", "for", "your", "order", "office",
    "thanks", "now", "friday", "account", "you", "read", "call",
]  # fmt: skip


def messages(n, seed=0):
    """``n`` pairs of a text and its label: a phrase, with a few words that either side uses."""
    draw = random.Random(seed)
    for t in range(n):
        spam = draw.random() < 0.4
        phrases = (EARLY_SPAM if t < n // 2 else LATE_SPAM) if spam else HAM
        words = draw.choice(phrases).split() + draw.sample(SMALL_TALK, 4)
        draw.shuffle(words)
        yield " ".join(words[: draw.randint(4, len(words))]), "spam" if spam else "ham"


def run(n=2000, seed=0):
    """The model, its words in the order of their weights, and where it was wrong."""
    model = ellipsoid.PassiveAggressive(C=0.1)
    vocabulary, wrong = {}, []
    for text, label in messages(n, seed):
        x = dict.fromkeys(text.split(), 1.0)
        if wrong:
            wrong.append(model.predict_one(x) != label)
        else:
            wrong.append(True)  # before the first message nothing is known
        model.learn_one(x, label)
        vocabulary.update(dict.fromkeys(x))  # a new word becomes the next column
    return model, list(vocabulary), wrong


if __name__ == "__main__":
    model, words, wrong = run()
    weights = dict(zip(words, model.coef_[0], strict=True))
    print(f"{sum(wrong)} of {len(wrong)} messages mislabelled, {len(words)} words met")
    print("most like", model.classes_[1], sorted(weights, key=weights.get)[-8:])
