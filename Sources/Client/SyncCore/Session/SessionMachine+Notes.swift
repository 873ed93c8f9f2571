import SyncModel

extension SessionMachine {
    /// Returns the facts about this event to record for later runs and other programs.
    func notes(after event: SyncEvent, _ turn: Turn) -> [SyncAction] {
        switch event {
        case .server(let event): notes(after: event, turn)
        case .store(let event): notes(after: event, turn)
        case .device(.timerFired): notesOfWaits(begunIn: turn)
        case .host, .device(.linkChanged), .device(.outboxTouched), .device(.spacesTouched): []
        }
    }

    private func notes(after event: ServerEvent, _ turn: Turn) -> [SyncAction] {
        switch event {
        case .helloEnded(_, .failure(let failure)), .pushEnded(_, .failure(let failure)),
            .pullEnded(_, _, .failure(let failure)):
            guard failure.code != .cancelled else { return [] }
            var actions = [SyncAction.note(.failed(code: failure.code.rawValue, message: failure.message))]
            if failure.asksForPause, let pause = failure.retryAfter {
                actions.append(.note(.paused(min(pause, turn.policy.backoff.longestRetryAfter))))
            }
            return actions
        case .helloEnded(_, .success):
            guard case .refused(_, let failure) = link.state else { return [] }
            return [.note(.failed(code: failure.code.rawValue, message: failure.message))]
        case .pushEnded(_, .success), .pullEnded(_, _, .success):
            return notesOfWaits(begunIn: turn)
        case .hint, .hintsEnded:
            return []
        }
    }

    private func notes(after event: StoreEvent, _ turn: Turn) -> [SyncAction] {
        switch event {
        case .failed(_, let failure):
            return [.note(.failed(code: failure.contactCode, message: failure.message))]
        case .pageApplied(let space, .braked(let deletes, let total)):
            guard isBraked(space) else { return notesOfWaits(begunIn: turn) }
            let message =
                "the server's snapshot of the space \(space) would delete \(deletes) of its \(total) records on this device, which may be a mistake of the server: a person has to agree"
            return [.note(.failed(code: ServerContact.Failure.braked, message: message))]
        case .spaceVacated(let space, .braked(let deletes, _)):
            guard isBraked(space) else { return notesOfWaits(begunIn: turn) }
            let message =
                "the server denies access to the space \(space), whose removal would delete \(deletes) records that this server has not shown: a person has to agree"
            return [.note(.failed(code: ServerContact.Failure.braked, message: message))]
        case .pageApplied(_, .applied), .spaceVacated(_, .vacated), .resultsRecorded, .transactionWithdrawn:
            // Check after each of these events. If the results are recorded after the page that contains their commits,
            // no later page would report that everything is in sync.
            guard contact != nil, outbox.summary.count == outbox.summary.held, pulls.allSatisfy(\.isInSync) else {
                return notesOfWaits(begunIn: turn)
            }
            return [.note(outbox.summary.held == 0 ? .inSync : .inSyncButHeld)]
        case .outboxCounted, .batchTaken, .nothingToPush, .cursorReset, .spacesRead, .sessionChanged:
            return []
        }
    }

    /// Whether the pull of a space waits for a person. If that person has agreed already, the deletes are applied next.
    private func isBraked(_ space: SpaceID) -> Bool {
        pulls.contains { pull in
            guard case .braked = pull.state else { return false }
            return pull.space == space
        }
    }

    /// Returns a note with the reason of each wait that began in this turn, such as an unusable response or a missed
    /// deadline.
    private func notesOfWaits(begunIn turn: Turn) -> [SyncAction] {
        var actions: [SyncAction] = []
        switch link.state {
        case .waiting(let timer, let failure), .refused(let timer, let failure):
            if turn.armed(timer) {
                actions.append(.note(.failed(code: failure.code.rawValue, message: failure.message)))
            }
        case .down, .awaitingHello, .online, .storeFailed: break
        }
        if case .waiting(let timer, let obstacle) = outbox.state, turn.armed(timer) {
            let note = SyncAction.note(.failed(code: obstacle.code, message: obstacle.message))
            // The link may wait for the same reason.
            if actions.last != note { actions.append(note) }
        }
        for pull in pulls {
            guard case .waiting(let timer, let obstacle) = pull.state, turn.armed(timer) else { continue }
            actions.append(.note(.failed(code: obstacle.code, message: obstacle.message)))
        }
        return actions
    }
}
