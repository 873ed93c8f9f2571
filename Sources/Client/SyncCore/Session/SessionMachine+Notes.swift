import SyncModel

extension SessionMachine {
    /// Returns the facts about this event to record for later runs and other programs.
    func notes(after event: SyncEvent, _ policy: SyncPolicy) -> [SyncAction] {
        switch event {
        case .server(let event): notes(after: event, policy)
        case .store(let event): notes(after: event)
        case .host, .device: []
        }
    }

    private func notes(after event: ServerEvent, _ policy: SyncPolicy) -> [SyncAction] {
        switch event {
        case .helloEnded(_, .failure(let failure)), .pushEnded(_, .failure(let failure)),
            .pullEnded(_, _, .failure(let failure)):
            guard failure.code != .cancelled else { return [] }
            var actions = [SyncAction.note(.failed(code: failure.code.rawValue, message: failure.message))]
            if failure.asksForPause, let pause = failure.retryAfter {
                actions.append(.note(.paused(min(pause, policy.backoff.longestRetryAfter))))
            }
            return actions
        case .helloEnded(_, .success):
            guard case .refused(_, let failure) = link.state else { return [] }
            return [.note(.failed(code: failure.code.rawValue, message: failure.message))]
        case .pullEnded(_, let space, .success):
            guard let pull = pulls.first(where: { $0.space == space }), case .waiting(_, let obstacle) = pull.state
            else { return [] }
            return [.note(.failed(code: obstacle.code, message: obstacle.message))]
        case .pushEnded(_, .success), .hint, .hintsEnded:
            return []
        }
    }

    private func notes(after event: StoreEvent) -> [SyncAction] {
        switch event {
        case .failed(_, let failure):
            return [.note(.failed(code: failure.code.rawValue, message: failure.message))]
        case .pageApplied(let space, .braked(let deletes, let total)),
            .spaceVacated(let space, .braked(let deletes, let total)):
            let message =
                "the server's data of \(space) would delete \(deletes) of the \(total) records here, and nothing proves that it is right: a person has to agree"
            return [.note(.failed(code: "braked", message: message))]
        case .pageApplied(_, .applied), .spaceVacated(_, .vacated), .resultsRecorded, .transactionWithdrawn:
            // Results may be recorded after the page that shows them. No later page would then report that everything
            // is in sync.
            return contact != nil && outbox.summary.count == 0 && pulls.allSatisfy(\.isInSync) ? [.note(.inSync)] : []
        case .outboxCounted, .batchTaken, .nothingToPush, .cursorReset, .sessionChanged:
            return []
        }
    }
}
