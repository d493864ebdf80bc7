from masker.training.progress import Score, State


def test_note_finds_the_best_and_breaks_ties_by_loss() -> None:
    state, improved = State(), []
    for step, (value, loss) in enumerate([(5, 2.0), (4, 1.0), (5, 2.5), (5, 1.9), (5, 1.9), (6, 9.0)], 1):
        state.step = step
        improved.append(state.note(Score(value, loss)))
    assert improved == [True, False, False, True, False, True]
    assert (state.best, state.best_step, state.stale) == (Score(6, 9.0), 6, 0)
