package import SyncCore
import SyncModel

extension Redaction {
    package func session(_ session: SessionMachine) -> SessionMachine {
        SessionMachine(
            phase: session.phase, link: link(session.link), outbox: outbox(session.outbox),
            pulls: session.pulls.map(pull), hints: session.hints, epoch: session.epoch.map(epoch),
            account: session.account.map(account), nextSerial: session.nextSerial)
    }

    private func link(_ link: LinkMachine) -> LinkMachine {
        let state: LinkMachine.State =
            switch link.state {
            case .down: .down("")
            case .awaitingHello: link.state
            case .online(let response): .online(hello(response))
            case .waiting(let timer, let reason): .waiting(timer, failure(reason))
            case .storeFailed(let timer, let reason): .storeFailed(timer, failure(reason))
            case .refused(let timer, let reason): .refused(timer, failure(reason))
            }
        return LinkMachine(
            state: state, backoff: link.backoff, doubts: link.doubts, lateResponses: link.lateResponses)
    }

    private func outbox(_ outbox: OutboxMachine) -> OutboxMachine {
        let state: OutboxMachine.State =
            switch outbox.state {
            case .resting, .taking, .withdrawing, .renewing: outbox.state
            case .inFlight(let request, let deadline, let sent):
                .inFlight(request: request, deadline: deadline, push: push(sent))
            case .recording(let names): .recording(spaces: names.map(space).sorted())
            case .waiting(let timer, .transport(let reason)): .waiting(timer, .transport(failure(reason)))
            case .waiting(let timer, .store(let reason)): .waiting(timer, .store(failure(reason)))
            case .waiting(let timer, .identity): .waiting(timer, .identity(""))
            }
        return OutboxMachine(
            state: state, summary: outbox.summary, backoff: outbox.backoff, shrunkLimit: outbox.shrunkLimit,
            identityRefusals: outbox.identityRefusals, refusals: outbox.refusals,
            wrongConfirmations: outbox.wrongConfirmations,
            setbacks: outbox.setbacks)
    }

    private func push(_ push: OutboxMachine.PushInFlight) -> OutboxMachine.PushInFlight {
        OutboxMachine.PushInFlight(
            identity: identity(push.identity), count: push.count, first: push.first,
            spaces: push.spaces.map(space).sorted(), isEmptied: push.isEmptied)
    }

    private func pull(_ pull: PullMachine) -> PullMachine {
        let state: PullMachine.State =
            switch pull.state {
            case .resting, .resetting, .vacating, .waiting(_, .reset), .waiting(_, .historyInDoubt):
                pull.state
            case .pulling(let request, let deadline, let from, let then):
                .pulling(request: request, deadline: deadline, cursor: cursor(from), then: then)
            case .applying(let response, let then): .applying(page(response), then: then)
            case .waiting(let timer, .transport(let reason)): .waiting(timer, .transport(failure(reason)))
            case .waiting(let timer, .store(let reason)): .waiting(timer, .store(failure(reason)))
            case .waiting(let timer, .contradiction): .waiting(timer, .contradiction(""))
            case .braked(let response, let deletes, let total, let poll):
                .braked(response.map(page), deletes: deletes, of: total, poll: poll)
            }
        return PullMachine(
            state: state, stored: stored(pull.stored), head: pull.head, hasCaughtUp: pull.hasCaughtUp,
            backoff: pull.backoff, resets: pull.resets, doubtsEpoch: pull.doubtsEpoch,
            contradictions: pull.contradictions,
            trail: pull.trail.map { CursorTrail(mark: cursor($0.mark) ?? $0.mark, steps: $0.steps, reach: $0.reach) },
            run: pull.run, pace: pull.pace, consent: pull.consent, hinted: pull.hinted)
    }
}
