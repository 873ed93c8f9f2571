import SyncModel

extension Transaction {
    /// A description of the transaction's changes.
    var words: String { mutations.map(\.words).joined(separator: "; ") }
}

extension Mutation {
    fileprivate var words: String {
        switch intent {
        case .create(let patch): "create \(collection) \(record) \(patch.words)"
        case .update(let edits):
            "update \(collection) \(record) {"
                + edits.map { "\($0.field): \($0.before.words) → \($0.value.words), seen at \($0.seen)" }
                .joined(separator: ", ") + "}"
        case .delete(let seen, let unshown):
            "delete \(collection) \(record), seen at \(seen)"
                + (unshown.isEmpty ? "" : " without \(unshown.map(\.rawValue).joined(separator: ", "))")
        }
    }
}

extension Patch {
    fileprivate var words: String {
        "{" + map { "\($0.field): \($0.value.words)" }.joined(separator: ", ") + "}"
    }
}

extension PushResponse {
    /// Marks the outcomes as returned, and returns the kind of event for the response to a push: a note when all its
    /// outcomes have been returned before.
    func recordOutcomes(of request: PushRequest, in recording: WorldRecording) -> EventKind {
        guard case .answered(let results, let epoch, _) = self else { return .rejection }
        var kind = EventKind.note
        for result in results {
            guard recording.markReturned("\(epoch) \(request.identity) \(result.number)") else { continue }
            switch result.outcome {
            case .rejected: kind = .rejection
            case .applied(_, _, let conflicts):
                guard kind != .rejection else { continue }
                if !conflicts.isEmpty { kind = .conflict } else if kind != .conflict { kind = .serverCommit }
            }
        }
        return kind
    }

    var detail: String {
        switch self {
        case .answered(let results, let epoch, _):
            "epoch \(epoch)\n" + results.map { "\($0.number): \($0.outcome.detail)" }.joined(separator: "\n")
        case .refused(.epochChanged(let epoch)): "the epoch is \(epoch)"
        case .refused: ""
        }
    }
}

extension Outcome {
    fileprivate var detail: String {
        switch self {
        case .rejected(let rejection): "rejected, \(rejection.code): \(rejection.message)"
        case .applied(let version, let uids, let conflicts):
            "applied at version \(version)"
                + uids.map { ", \($0.collection) \($0.record) has uid \($0.uid)" }.joined()
                + conflicts.map { conflict in
                    ", \(conflict.collection) \(conflict.record).\(conflict.field): \(conflict.winner.value.words) won over "
                        + "\(conflict.loser.value.words) by \(conflict.rule)"
                }.joined()
        }
    }
}

extension PullResponse {
    var detail: String {
        guard case .page(let page) = self else { return "" }
        let head =
            "epoch \(page.epoch), head \(page.head), cursor \(page.cursor)\(page.hasMore ? ", more follows" : "")"
        switch page.content {
        case .snapshot(let rows, _, _):
            return head + rows.map { "\n\($0.records.count) of \($0.collection)" }.joined()
        case .commits(let commits):
            return head + commits.map { "\n\($0.version): \($0.changes.map(\.words).joined(separator: "; "))" }.joined()
        }
    }
}

extension RecordChange {
    fileprivate var words: String {
        switch effect {
        case .created(let uid, let patch): "\(collection) \(id) with uid \(uid) \(patch.words)"
        case .updated(let patch): "\(collection) \(id) \(patch.words)"
        case .deleted: "\(collection) \(id) deleted"
        }
    }
}

extension FieldValue {
    fileprivate var words: String {
        switch self {
        case .null: "null"
        case .boolean(let value): "\(value)"
        case .integer(let value): "\(value)"
        case .real(let value): "\(value)"
        case .text(let text): "\"\(text)\""
        case .reference(let id): "\(id)"
        case .json(let text): text
        }
    }
}
