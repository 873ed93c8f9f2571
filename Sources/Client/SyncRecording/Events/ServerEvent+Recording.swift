import SyncCore
import SyncJSON
import SyncModel

extension JSONWriter {
    mutating func event(_ event: ServerEvent) {
        name(event.label)
        switch event {
        case .helloEnded(let serial, let result):
            member("serial", serial.rawValue)
            switch result {
            case .success(let hello): member("hello") { $0.hello(hello) }
            case .failure(let failure): member("failure") { $0.failure(failure) }
            }
        case .pushEnded(let serial, let result):
            member("serial", serial.rawValue)
            pushResult(result)
        case .pullEnded(let serial, let space, let result):
            member("serial", serial.rawValue)
            member("space", space.rawValue)
            switch result {
            case .success(.page(let page)): member("page") { $0.page(page) }
            case .success(.mustReset(let reason)): member("must_reset", reason.rawValue)
            case .success(.noAccess(let epoch)): member("no_access", epoch.rawValue)
            case .failure(let failure): member("failure") { $0.failure(failure) }
            }
        case .hint(let serial, let hint):
            member("serial", serial.rawValue)
            member("space", hint.space.rawValue)
            member("head", hint.head.rawValue)
        case .hintsEnded(let serial, let retryAfter):
            member("serial", serial.rawValue)
            if let retryAfter { member("retry_after", retryAfter) }
        }
    }

    private mutating func pushResult(_ result: Result<PushResponse, TransportError>) {
        switch result {
        case .success(.answered(let results, let epoch, let time)):
            member("epoch", epoch.rawValue)
            member("server_time", time.description)
            member("results", results) { writer, result in
                writer.beginArray()
                writer.integer(result.number.rawValue)
                switch result.outcome {
                case .applied(let version, _, _): writer.integer(version.rawValue)
                case .rejected(let rejection): writer.string(rejection.code.rawValue)
                }
                if let receipt = result.receipt {
                    writer.string(receipt.space.rawValue)
                    writer.integer(receipt.version.rawValue)
                    writer.string(receipt.cursor.rawValue)
                }
                writer.endArray()
            }
        case .success(.refused(.gap(let expected))):
            member("refused", "gap")
            member("number", expected.rawValue)
        case .success(.refused(.identityConflict(let number))):
            member("refused", "identity_conflict")
            member("number", number.rawValue)
        case .success(.refused(.epochChanged(let epoch))):
            member("refused", "epoch_changed")
            member("epoch", epoch.rawValue)
        case .failure(let failure): member("failure") { $0.failure(failure) }
        }
    }
}

extension RecordingNode {
    func event(_ name: ServerEvent.Name) throws(RecordingError) -> ServerEvent {
        let serial = try eventSerial()
        switch name {
        case .helloEnded:
            return .helloEnded(
                serial, try result { node throws(RecordingError) in try node.member("hello").hello() })
        case .pushEnded:
            return .pushEnded(serial, try result { node throws(RecordingError) in try node.pushResponse() })
        case .pullEnded:
            return .pullEnded(
                serial, try member("space").space(),
                try result { node throws(RecordingError) in try node.pullResponse() })
        case .hint:
            return .hint(serial, Hint(space: try member("space").space(), head: try member("head").version()))
        case .hintsEnded:
            let pause = try optional("retry_after")?.duration()
            return .hintsEnded(serial, retryAfter: pause)
        }
    }

    private func result<Value>(
        _ body: (RecordingNode) throws(RecordingError) -> Value
    ) throws(RecordingError) -> Result<Value, TransportError> {
        if let failure = optional("failure") { return .failure(try failure.failure()) }
        return .success(try body(self))
    }

    private func pushResponse() throws(RecordingError) -> PushResponse {
        switch try optional("refused")?.text() {
        case nil:
            return .answered(
                try member("results").list(of: Self.transactionResult),
                epoch: try member("epoch").epoch(), serverTime: try member("server_time").hybridTime())
        case "gap": return .refused(.gap(expected: try member("number").number()))
        case "identity_conflict": return .refused(.identityConflict(number: try member("number").number()))
        case "epoch_changed": return .refused(.epochChanged(try member("epoch").epoch()))
        default: throw try member("refused").wrong("gap, identity_conflict or epoch_changed")
        }
    }

    private func transactionResult() throws(RecordingError) -> TransactionResult {
        let parts = try list(5) { node throws(RecordingError) in node }
        guard parts.count == 2 || parts.count == 5 else {
            throw wrong("a number and its outcome, and the space, version and cursor of a receipt")
        }
        let outcome: Outcome =
            if case .string = parts[1].value {
                Redaction.rejected(try parts[1].text())
            } else {
                .applied(version: try parts[1].version(), uids: [], conflicts: [])
            }
        let receipt: CommitReceipt? =
            if parts.count == 5 {
                CommitReceipt(
                    space: try parts[2].space(), version: try parts[3].version(), cursor: try parts[4].cursor())
            } else { nil }
        return TransactionResult(number: try parts[0].number(), outcome: outcome, receipt: receipt)
    }

    private func pullResponse() throws(RecordingError) -> PullResponse {
        if let reason = optional("must_reset") { return .mustReset(try reason.resetReason()) }
        if let epoch = optional("no_access") { return .noAccess(try epoch.epoch()) }
        return .page(try member("page").page())
    }
}

extension Redaction {
    func event(_ event: ServerEvent) -> ServerEvent {
        switch event {
        case .helloEnded(let serial, let result): .helloEnded(serial, result.map(hello).mapError(failure))
        case .pushEnded(let serial, let result): .pushEnded(serial, result.map(response).mapError(failure))
        case .pullEnded(let serial, let name, let result):
            .pullEnded(serial, space(name), result.map(response).mapError(failure))
        case .hint(let serial, let hint): .hint(serial, Hint(space: space(hint.space), head: hint.head))
        case .hintsEnded(let serial, let retryAfter): .hintsEnded(serial, retryAfter: retryAfter)
        }
    }
}

extension ServerEvent {
    var carried: Int {
        switch self {
        case .pushEnded(_, .success(.answered(let results, _, _))): results.count
        case .pullEnded(_, _, .success(.page(let page))): page.recordCount
        case .helloEnded, .pushEnded, .pullEnded, .hint, .hintsEnded: 0
        }
    }
}

extension PullPage {
    fileprivate var recordCount: Int {
        switch content {
        case .snapshot(let rows, _, _): rows.reduce(0) { $0 + $1.records.count }
        case .commits(let commits): commits.reduce(0) { $0 + $1.changes.count }
        }
    }
}
