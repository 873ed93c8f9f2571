import SyncJSON
package import SyncModel

/// Codec for the request and response of a push.
package enum PushCodec {
    // MARK: Request

    /// Encodes a request. Throws `unencodable` when a value has no form on the wire.
    package static func encode(_ request: PushRequest) throws(WireError) -> [UInt8] {
        var writer = JSONWriter(reserving: request.transactions.reduce(256) { $0 + $1.transaction.byteCount * 2 })
        writer.beginObject()
        writer.key("client")
        writer.identifier(request.identity.client.bits)
        writer.member("incarnation", request.identity.incarnation)
        writer.member("epoch", ifAny: request.epoch?.rawValue)
        writer.member("account", ifAny: request.account?.rawValue)
        if !request.cursors.isEmpty {
            writer.key("cursors")
            writer.beginArray()
            for cursor in request.cursors { writer.string(cursor.rawValue) }
            writer.endArray()
        }
        writer.member("acknowledged", request.acknowledged.rawValue)
        writer.key("transactions")
        writer.beginArray()
        for item in request.transactions {
            writer.beginObject()
            writer.member("number", item.number.rawValue)
            writer.member("hash", item.hash.rawValue)
            if let age = item.age {
                writer.member("age", age.wholeMilliseconds)
            }
            if !item.formerNumbers.isEmpty {
                writer.key("formerly")
                writer.beginArray()
                for former in item.formerNumbers { write(former, to: &writer) }
                writer.endArray()
            }
            writer.key("transaction")
            try TransactionCodec.write(item.transaction, to: &writer)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
        return writer.bytes
    }

    private static func write(_ former: FormerNumber, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("client")
        writer.identifier(former.identity.client.bits)
        writer.member("incarnation", former.identity.incarnation)
        writer.member("number", former.number.rawValue)
        writer.member("hash", former.hash.rawValue)
        writer.endObject()
    }

    /// Decodes a request strictly.
    ///
    /// The numbers must be consecutive. Throws `damaged` when a transaction does not match its hash.
    package static func decodeRequest(_ bytes: [UInt8]) throws(WireError) -> PushRequest {
        try Message.read(bytes, "push", readRequest)
    }

    private static func readRequest(_ reader: inout JSONReader) throws(JSONError) -> PushRequest {
        var client: ClientID?
        var incarnation: Int?
        var epoch: Epoch?
        var account: AccountID?
        var cursors: [Cursor] = []
        var acknowledged: TransactionNumber?
        var transactions: [NumberedTransaction]?
        var members = try reader.beginObject()
        while let key = try reader.nextKey(&members) {
            switch key {
            case "client": client = try reader.clientID()
            case "incarnation": incarnation = try reader.count("the incarnation")
            case "epoch": if try !reader.null() { epoch = try reader.epoch() }
            case "account": if try !reader.null() { account = try reader.account() }
            case "cursors": cursors = try reader.list { (reader) throws(JSONError) in try reader.cursor() }
            case "acknowledged": acknowledged = try reader.transactionNumber()
            case "transactions": transactions = try readTransactions(&reader)
            default: try reader.unknown(key, .refusingUnknownKeys)
            }
        }
        return PushRequest(
            identity: ClientIdentity(
                client: try reader.require(client, "client"),
                incarnation: try reader.require(incarnation, "incarnation")),
            epoch: epoch, account: account, cursors: cursors,
            acknowledged: try reader.require(acknowledged, "acknowledged"),
            transactions: try reader.require(transactions, "transactions"))
    }

    private static func readTransactions(_ reader: inout JSONReader) throws(JSONError) -> [NumberedTransaction] {
        var expected: TransactionNumber?
        return try reader.list { (reader) throws(JSONError) in
            _ = try reader.kind()
            let start = reader.position
            let transaction = try readTransaction(&reader)
            if let expected, transaction.number != expected {
                throw reader.content(
                    "number \(transaction.number) follows \(expected.rawValue - 1); expected \(expected)", at: start)
            }
            guard transaction.number.rawValue < .max else {
                throw reader.content("the transaction number is the largest possible one", at: start)
            }
            expected = transaction.number.next
            return transaction
        }
    }

    private static func readTransaction(_ reader: inout JSONReader) throws(JSONError) -> NumberedTransaction {
        let start = reader.position
        var number: TransactionNumber?
        var hash: String?
        var transaction: Transaction?
        var age: Duration?
        var formerNumbers: [FormerNumber] = []
        var members = try reader.beginObject()
        while let key = try reader.nextKey(&members) {
            switch key {
            case "number": number = try reader.transactionNumber()
            case "hash": hash = try reader.text(bytes: 64, "the hash")
            case "transaction": transaction = try TransactionCodec.read(&reader)
            case "age": if try !reader.null() { age = .milliseconds(try reader.natural("the age")) }
            case "formerly": formerNumbers = try readFormerNumbers(&reader)
            default: try reader.unknown(key, .refusingUnknownKeys)
            }
        }
        let result = NumberedTransaction(
            number: try reader.require(number, "number"),
            hash: PayloadHash(rawValue: try reader.require(hash, "hash")),
            transaction: try reader.require(transaction, "transaction"), age: age, formerNumbers: formerNumbers)
        try check(result, from: start)
        return result
    }

    private static func readFormerNumbers(_ reader: inout JSONReader) throws(JSONError) -> [FormerNumber] {
        var count = 0
        return try reader.list { (reader) throws(JSONError) in
            count += 1
            guard count <= SchemaLimits.formerNumbers else {
                throw reader.content("a transaction has at most \(SchemaLimits.formerNumbers) former numbers")
            }
            var client: ClientID?
            var incarnation: Int?
            var number: TransactionNumber?
            var hash: String?
            var members = try reader.beginObject()
            while let key = try reader.nextKey(&members) {
                switch key {
                case "client": client = try reader.clientID()
                case "incarnation": incarnation = try reader.count("the incarnation")
                case "number": number = try reader.transactionNumber()
                case "hash": hash = try readHash(&reader)
                default: try reader.unknown(key, .refusingUnknownKeys)
                }
            }
            return FormerNumber(
                identity: ClientIdentity(
                    client: try reader.require(client, "client"),
                    incarnation: try reader.require(incarnation, "incarnation")),
                number: try reader.require(number, "number"),
                hash: PayloadHash(rawValue: try reader.require(hash, "hash")))
        }
    }

    private static func readHash(_ reader: inout JSONReader) throws(JSONError) -> String {
        let start = reader.position
        let text = try reader.text(bytes: 64, "the hash")
        guard text.utf8.count == 64, text.utf8.allSatisfy(Self.isHexadecimal) else {
            throw reader.content("the hash has other characters than 64 lower-case hexadecimal digits", at: start)
        }
        return text
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }

    private static func check(_ item: NumberedTransaction, from start: Int) throws(JSONError) {
        do throws(WireError) {
            guard try PayloadHash(of: item.transaction) == item.hash else {
                throw WireError(
                    .damaged, "transaction \(item.number) does not match its hash: the request was altered in transit")
            }
        } catch {
            throw JSONError(error.code == .damaged ? .damage : .content, at: start, error.message)
        }
    }

    // MARK: Response

    /// Encodes a response. Each result names the hash of its transaction, so that a device does not take the response
    /// to another push for its own.
    package static func encode(_ response: PushResponse, to request: PushRequest) throws(WireError) -> [UInt8] {
        var writer = JSONWriter(reserving: 256)
        writer.beginObject()
        switch response {
        case .answered(let results, let epoch, let serverTime):
            writer.key("answered")
            writer.beginObject()
            writer.member("epoch", epoch.rawValue)
            writer.key("serverTime")
            writer.hybridTime(serverTime)
            writer.key("results")
            writer.beginArray()
            for (index, result) in results.enumerated() {
                writer.beginObject()
                writer.member("number", result.number.rawValue)
                if index < request.transactions.count {
                    writer.member("hash", request.transactions[index].hash.rawValue)
                }
                writer.key("outcome")
                try OutcomeCodec.write(result.outcome, to: &writer)
                if let receipt = result.receipt { write(receipt, to: &writer) }
                writer.endObject()
            }
            writer.endArray()
            writer.endObject()
        case .refused(let refusal):
            writer.key("refused")
            write(refusal, to: &writer)
        }
        writer.endObject()
        return writer.bytes
    }

    private static func write(_ receipt: CommitReceipt, to writer: inout JSONWriter) {
        writer.key("receipt")
        writer.beginObject()
        writer.member("space", receipt.space.rawValue)
        writer.member("version", receipt.version.rawValue)
        writer.member("cursor", receipt.cursor.rawValue)
        writer.endObject()
    }

    private static func readReceipt(_ reader: inout JSONReader) throws(JSONError) -> CommitReceipt {
        var space: SpaceID?
        var version: Version?
        var cursor: Cursor?
        var members = try reader.beginObject()
        while let key = try reader.nextKey(&members) {
            switch key {
            case "space": space = try reader.name()
            case "version": version = try reader.version()
            case "cursor": cursor = try reader.cursor()
            default: try reader.unknown(key, .ignoringUnknownKeys)
            }
        }
        return CommitReceipt(
            space: try reader.require(space, "space"), version: try reader.require(version, "version"),
            cursor: try reader.require(cursor, "cursor"))
    }

    private static func write(_ refusal: PushRefusal, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("reason")
        switch refusal {
        case .gap(let expected):
            writer.string("gap")
            writer.member("expected", expected.rawValue)
        case .identityConflict(let number):
            writer.string("identity_conflict")
            writer.member("number", number.rawValue)
        case .epochChanged(let epoch):
            writer.string("epoch_changed")
            writer.member("epoch", epoch.rawValue)
        }
        writer.endObject()
    }

    /// Decodes the response to `request`. Throws if a result is not that of the transaction at its place.
    package static func decodeResponse(
        _ bytes: [UInt8], to request: PushRequest
    ) throws(WireError) -> PushResponse {
        try Message.read(bytes, "response to push") { (reader) throws(JSONError) in
            try readResponse(&reader, to: request)
        }
    }

    private static func readResponse(
        _ reader: inout JSONReader, to request: PushRequest
    ) throws(JSONError) -> PushResponse {
        var response: PushResponse?
        var members = try reader.beginObject()
        while let key = try reader.nextKey(&members) {
            switch key {
            case "answered", "refused":
                guard response == nil else {
                    throw reader.content("expected one of answered and refused", at: key.offset)
                }
                if case "answered" = key {
                    response = try readAnswered(&reader, to: request)
                } else {
                    response = .refused(try readRefusal(&reader))
                }
            default: try reader.unknown(key, .ignoringUnknownKeys)
            }
        }
        guard let response else { throw reader.content("one of answered and refused is missing") }
        return response
    }

    private static func readAnswered(
        _ reader: inout JSONReader, to request: PushRequest
    ) throws(JSONError) -> PushResponse {
        var epoch: Epoch?
        var serverTime: HybridTime?
        var results: [TransactionResult]?
        var members = try reader.beginObject()
        while let key = try reader.nextKey(&members) {
            switch key {
            case "epoch": epoch = try reader.epoch()
            case "serverTime": serverTime = try reader.hybridTime()
            case "results": results = try readResults(&reader, to: request.transactions[...])
            default: try reader.unknown(key, .ignoringUnknownKeys)
            }
        }
        return .answered(
            try reader.require(results, "results"), epoch: try reader.require(epoch, "epoch"),
            serverTime: try reader.require(serverTime, "serverTime"))
    }

    private static func readResults(
        _ reader: inout JSONReader, to transactions: ArraySlice<NumberedTransaction>
    ) throws(JSONError) -> [TransactionResult] {
        var expected = transactions
        return try reader.list { (reader) throws(JSONError) in
            _ = try reader.kind()
            let start = reader.position
            var number: TransactionNumber?
            var hash: String?
            var outcome: Outcome?
            var receipt: CommitReceipt?
            var members = try reader.beginObject()
            while let key = try reader.nextKey(&members) {
                switch key {
                case "number": number = try reader.transactionNumber()
                case "hash": hash = try reader.text(bytes: 64, "the hash")
                case "outcome": outcome = try OutcomeCodec.read(&reader)
                case "receipt": if try !reader.null() { receipt = try readReceipt(&reader) }
                default: try reader.unknown(key, .ignoringUnknownKeys)
                }
            }
            let result = TransactionResult(
                number: try reader.require(number, "number"), outcome: try reader.require(outcome, "outcome"),
                receipt: receipt)
            guard let transaction = expected.popFirst() else {
                throw reader.content(
                    "the push had \(transactions.count) transactions; expected no further result", at: start)
            }
            guard result.number == transaction.number else {
                throw reader.content(
                    "the result is that of number \(result.number); expected \(transaction.number)", at: start)
            }
            guard try reader.require(hash, "hash") == transaction.hash.rawValue else {
                throw reader.content("the result of number \(result.number) is that of another transaction", at: start)
            }
            return result
        }
    }

    private static func readRefusal(_ reader: inout JSONReader) throws(JSONError) -> PushRefusal {
        var reason: String?
        var expected: TransactionNumber?
        var number: TransactionNumber?
        var epoch: Epoch?
        var members = try reader.beginObject()
        while let key = try reader.nextKey(&members) {
            switch key {
            case "reason": reason = try reader.text(bytes: WireLimits.opaqueBytes, "the reason")
            case "expected": expected = try reader.transactionNumber()
            case "number": number = try reader.transactionNumber()
            case "epoch": epoch = try reader.epoch()
            default: try reader.unknown(key, .ignoringUnknownKeys)
            }
        }
        switch try reader.require(reason, "reason") {
        case "gap": return .gap(expected: try reader.require(expected, "expected"))
        case "identity_conflict": return .identityConflict(number: try reader.require(number, "number"))
        case "epoch_changed": return .epochChanged(try reader.require(epoch, "epoch"))
        case let other:
            // The server accepted nothing, and this build does not know the remedy: the push stays in the outbox and is
            // retried.
            throw reader.content("a refusal that this build does not know: \(other.prefix(64).debugDescription)")
        }
    }
}
