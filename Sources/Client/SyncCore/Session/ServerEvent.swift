package import SyncModel

/// An event from the server, or from the network on the way to it.
package enum ServerEvent: Hashable, Sendable {
    case helloEnded(Serial, Result<ServerHello, TransportError>)
    case pushEnded(Serial, Result<PushResponse, TransportError>)
    case pullEnded(Serial, SpaceID, Result<PullResponse, TransportError>)
    case hint(Serial, Hint)
    case hintsEnded(Serial, retryAfter: Duration? = nil)

    package enum Name: String, CaseIterable {
        case helloEnded = "hello_ended"
        case pushEnded = "push_ended"
        case pullEnded = "pull_ended"
        case hint
        case hintsEnded = "hints_ended"
    }

    package var label: EventLabel<Name> {
        switch self {
        case .helloEnded(let serial, let result): EventLabel(.helloEnded, ": \(serial), \(result.facts(\.facts))")
        case .pushEnded(let serial, let result): EventLabel(.pushEnded, ": \(serial), \(result.facts(\.facts))")
        case .pullEnded(let serial, let space, let result):
            EventLabel(.pullEnded, " in \(space): \(serial), \(result.facts(\.facts))")
        case .hint(_, let hint): EventLabel(.hint, " in \(hint.space): version \(hint.head)")
        case .hintsEnded(let serial, let pause): EventLabel(.hintsEnded, ": \(serial)\(pause.pauseFact)")
        }
    }

    /// The request that the event ends; nil for an event in the middle of a stream.
    var endedRequest: Serial? {
        switch self {
        case .helloEnded(let serial, _), .pushEnded(let serial, _), .pullEnded(let serial, _, _),
            .hintsEnded(let serial, _):
            serial
        case .hint: nil
        }
    }
}

extension Result where Failure == TransportError {
    fileprivate func facts(_ success: (Success) -> String) -> String {
        switch self {
        case .success(let value): success(value)
        case .failure(let failure): "failed: \(failure.code.rawValue)\(failure.retryAfter.pauseFact)"
        }
    }
}

extension Duration? {
    fileprivate var pauseFact: String { map { ", retry after \($0)" } ?? "" }
}

extension ServerHello {
    fileprivate var facts: String { "epoch \(epoch), account \(account)" }
}

extension PushResponse {
    fileprivate var facts: String {
        switch self {
        case .answered(let results, _, _): "\(results.count) outcomes"
        case .refused(.gap(let expected)): "refused: a gap; expected transaction number \(expected)"
        case .refused(.identityConflict(let number)): "refused: an identity conflict at transaction number \(number)"
        case .refused(.epochChanged(let epoch)): "refused: the epoch is \(epoch)"
        }
    }
}

extension PullResponse {
    fileprivate var facts: String {
        switch self {
        case .page(let page): "\(page.content.facts), version \(page.version) of \(page.head)"
        case .mustReset(let reason): "must reset: \(reason.rawValue)"
        case .noAccess(let epoch): "no access in epoch \(epoch)"
        }
    }
}

extension PullPage.Content {
    /// The kind of the page, without its records.
    package var facts: String {
        switch self {
        case .snapshot(_, let isFirst, let isLast):
            "a\(isFirst ? " first" : "")\(isLast ? " last" : "") page of a snapshot"
        case .commits: "commits"
        }
    }
}
