"""How close texts are to those of a reference run."""


def edit_distance(a, b):
    """Levenshtein distance: fewest characters inserted, deleted or replaced to make `b` of `a`."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


def compare(texts, reference):
    """
    Compare texts {(place): text} with those of a reference run, place by place.

    Gives the share that is equal, the mean edit distance in characters, how many were compared and how many one of
    the two runs lacks; the figures are None where nothing can be compared.
    """
    both = sorted(set(texts) & set(reference))
    distances = [edit_distance(texts[key], reference[key]) for key in both]
    return {
        'exact_match': sum(not distance for distance in distances) / len(both) if both else None,
        'edit_distance': sum(distances) / len(both) if both else None,
        'compared': len(both),
        'missing': len(set(texts) ^ set(reference)),
    }
