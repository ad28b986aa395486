"""Send many requests: what is stored is not sent again, the number at once is bounded, and each answer is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice

from finetune.errors import BadInput
from finetune.prompting.answers import AnswerStore
from finetune.prompting.request import Answer, Model, Request, Unanswered

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Replies:
    """The answers to a list of requests.

    Args:
        answers: one a request, None where the model did not answer.
        reasons: why, by the number of the request.
        sent: requests that went to the model; the others were stored.
    """

    answers: tuple[Answer | None, ...]
    reasons: dict[int, str]
    sent: int

    def complete(self) -> list[Answer]:
        """Return all answers.

        Raises:
            BadInput: if a request was not answered; the same command asks it again.
        """
        whole = [answer for answer in self.answers if answer is not None]
        if self.reasons:
            number, reason = next(iter(self.reasons.items()))
            raise BadInput(
                f"{len(self.reasons)} of {len(self.answers)} requests were not answered "
                f"(request {number + 1}: {reason}); with --store the same command asks only these again"
            )
        return whole

    def tokens(self) -> tuple[int, int]:
        """Return the tokens of all prompts and of all completions, stored ones included."""
        answered = [answer for answer in self.answers if answer is not None]
        return sum(a.prompt_tokens for a in answered), sum(a.completion_tokens for a in answered)


def ask(
    model: Model, requests: Sequence[Request], store: AnswerStore | None = None, progress: Progress | None = None
) -> Replies:
    """Answer requests: from the store where it can, else by the model, at most `model.parallel` at once.

    Equal requests are sent once. A request that the model cannot answer now leaves the others alone; one that it can
    never answer (BadInput) ends the run, after what is under way has been kept.

    Args:
        model: who answers.
        requests: in any order, repeated or not.
        store: where answers are kept; None keeps none.
        progress: called with (answered, all) after each.
    Returns:
        an answer for each request, in its order.
    Raises:
        BadInput: what the model raises for a request that can never be answered.
    """
    with ExitStack() as stack:
        own = store if store is not None else stack.enter_context(AnswerStore(None))
        answers = own.find(requests)
        places: dict[Request, list[int]] = {}
        for number, (request, answer) in enumerate(zip(requests, answers, strict=True)):
            if answer is None:
                places.setdefault(request, []).append(number)
        reasons: dict[int, str] = {}
        done = sum(answer is not None for answer in answers)
        report = progress or (lambda done, all_: None)
        report(done, len(requests))
        for request, outcome in _outcomes(model, list(places), own):
            for number in places[request]:
                if isinstance(outcome, Unanswered):
                    reasons[number] = str(outcome)
                else:
                    answers[number] = outcome
            done += len(places[request])
            report(done, len(requests))
    return Replies(tuple(answers), dict(sorted(reasons.items())), len(places))


Outcome = tuple[Request, Answer | Unanswered]


def _outcomes(model: Model, requests: Sequence[Request], store: AnswerStore) -> Iterator[Outcome]:
    """Yield each request with its answer, kept before it is yielded, or with the reason why there is none."""
    if model.parallel == 1:  # in this thread, so that Ctrl-C reaches the model
        for request in requests:
            yield _store_answer(request, partial(_answer, model, request), store)
        return
    with ThreadPoolExecutor(model.parallel) as pool:
        waiting = iter(requests)
        running: dict[Future[Answer | Unanswered], Request] = {}
        try:
            while True:
                for request in islice(waiting, model.parallel - len(running)):
                    running[pool.submit(_answer, model, request)] = request
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    yield _store_answer(running.pop(future), future.result, store)
        except BaseException:
            # What is under way is paid for: it is awaited and kept before the run ends.
            for future in wait(running).done:
                with suppress(BadInput):
                    _store_answer(running[future], future.result, store)
            raise


def _answer(model: Model, request: Request) -> Answer | Unanswered:
    try:
        return model.answer(request)
    except Unanswered as reason:
        return reason


def _store_answer(request: Request, outcome: Callable[[], Answer | Unanswered], store: AnswerStore) -> Outcome:
    answer = outcome()
    if isinstance(answer, Answer):
        store.keep(request, answer)
    return request, answer
