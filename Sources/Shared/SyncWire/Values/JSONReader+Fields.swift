import SyncJSON
import SyncModel

extension JSONReader {
    /// Handles a key that is not defined for the message: rejects it or skips its value.
    mutating func unknown(_ key: JSONKey, _ strictness: Strictness) throws(JSONError) {
        switch strictness {
        case .refusingUnknownKeys: throw JSONError(.content, at: key.offset, "unknown key \(key.quoted)")
        case .ignoringUnknownKeys: try skip()
        }
    }

    /// Returns the error for a value with the wrong content, at the current position unless `offset` is given.
    func content(_ problem: String, at offset: Int? = nil) -> JSONError {
        JSONError(.content, at: offset ?? position, problem)
    }

    /// Returns the value of a required member. Throws when it is missing.
    func require<Value>(_ value: Value?, _ key: StaticString) throws(JSONError) -> Value {
        guard let value else { throw content("\"\(key)\" is missing") }
        return value
    }

    mutating func integer(in range: ClosedRange<Int64>, _ what: StaticString) throws(JSONError) -> Int64 {
        _ = try kind()
        let start = position
        let value = try integer()
        guard range.contains(value) else {
            throw content(
                "\(what) is \(value); "
                    + (range.upperBound == .max
                        ? "expected \(range.lowerBound) or more"
                        : "expected \(range.lowerBound) to \(range.upperBound)"),
                at: start)
        }
        return value
    }

    mutating func count(_ what: StaticString) throws(JSONError) -> Int {
        Int(try integer(in: 0...Int64(Int32.max), what))
    }

    mutating func positive(_ what: StaticString) throws(JSONError) -> Int {
        Int(try integer(in: 1...Int64(Int32.max), what))
    }

    /// Reads a number that may exceed 32 bits, such as milliseconds or a counter that grows for years.
    mutating func natural(_ what: StaticString) throws(JSONError) -> Int64 {
        try integer(in: 0...Int64.max, what)
    }

    mutating func version() throws(JSONError) -> Version {
        Version(try integer(in: 0...Version.largest.rawValue, "the version"))
    }

    /// Reads the version of a commit or record, which is at least 1: version 0 precedes the first commit.
    mutating func committedVersion() throws(JSONError) -> Version {
        Version(try integer(in: 1...Version.largest.rawValue, "the version"))
    }

    mutating func uid() throws(JSONError) -> UID {
        UID(try integer(in: 0...Int64.max, "the uid"))
    }

    mutating func transactionNumber() throws(JSONError) -> TransactionNumber {
        TransactionNumber(try integer(in: 0...Int64.max, "the transaction number"))
    }

    mutating func name<Name: PlainName>(_ type: Name.Type = Name.self) throws(JSONError) -> Name {
        _ = try kind()
        let start = position
        guard let name = Name(rawValue: try string()) else {
            throw content("expected a name: a-z, then a-z, 0-9 or _, 63 at most", at: start)
        }
        return name
    }

    /// Returns a key as a name, for objects whose keys are names.
    func name<Name: PlainName>(_ key: JSONKey, _ type: Name.Type = Name.self) throws(JSONError) -> Name {
        guard let name = Name(rawValue: key.text) else {
            throw content("\(key.quoted) is not a valid name: a-z, then a-z, 0-9 or _, 63 at most", at: key.offset)
        }
        return name
    }

    mutating func identifier() throws(JSONError) -> Identifier128 {
        _ = try kind()
        let start = position
        guard let bits = try withString({ Identifier128(utf8: $0) }) else {
            throw content("expected an identifier: 32 hexadecimal digits in groups of 8-4-4-4-12", at: start)
        }
        return bits
    }

    mutating func recordID() throws(JSONError) -> RecordID { RecordID(bits: try identifier()) }

    mutating func clientID() throws(JSONError) -> ClientID { ClientID(bits: try identifier()) }

    /// Reads text that is stored unchanged and whose length in bytes is limited.
    mutating func text(bytes limit: Int, _ what: StaticString) throws(JSONError) -> String {
        _ = try kind()
        let start = position
        let text = try string()
        guard text.utf8.count <= limit else {
            throw content("\(what) has \(text.utf8.count) bytes, at most \(limit) allowed", at: start)
        }
        return text
    }

    mutating func cursor() throws(JSONError) -> Cursor {
        Cursor(rawValue: try text(bytes: WireLimits.opaqueBytes, "the cursor"))
    }

    mutating func epoch() throws(JSONError) -> Epoch {
        Epoch(rawValue: try text(bytes: WireLimits.opaqueBytes, "the epoch"))
    }

    mutating func account() throws(JSONError) -> AccountID {
        AccountID(rawValue: try text(bytes: WireLimits.opaqueBytes, "the account"))
    }

    /// Reads a time in the form `"<milliseconds>.<counter>"`. As a single number, it would exceed the integers that
    /// JSON in other languages represents exactly.
    mutating func hybridTime() throws(JSONError) -> HybridTime {
        _ = try kind()
        let start = position
        guard let time = try withString({ Self.hybridTime($0) }) else {
            throw content("expected a time: \"<milliseconds since 1970>.<counter>\"", at: start)
        }
        return time
    }

    private static func hybridTime(_ text: UnsafeBufferPointer<UInt8>) -> HybridTime? {
        guard let dot = text.firstIndex(of: UInt8(ascii: ".")),
            let milliseconds = decimal(text[..<dot]), milliseconds <= UInt64(HybridTime.latestWall.milliseconds),
            let counter = decimal(text[(dot + 1)...]).flatMap(UInt16.init(exactly:))
        else { return nil }
        return HybridTime(wall: WallTime(milliseconds: Int64(milliseconds)), counter: counter)
    }

    /// Parses up to 18 digits without a leading zero, so that each number has exactly one text.
    private static func decimal(_ digits: Slice<UnsafeBufferPointer<UInt8>>) -> UInt64? {
        guard let first = digits.first, digits.count <= 18, digits.count == 1 || first != UInt8(ascii: "0") else {
            return nil
        }
        var value: UInt64 = 0
        for byte in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            value = value * 10 + UInt64(byte - UInt8(ascii: "0"))
        }
        return value
    }

    /// Reads all elements of an array.
    mutating func list<Element>(
        _ element: (inout JSONReader) throws(JSONError) -> Element
    ) throws(JSONError) -> [Element] {
        var result: [Element] = []
        var elements = try beginArray()
        while try nextElement(&elements) { result.append(try element(&self)) }
        return result
    }
}

extension JSONWriter {
    mutating func identifier(_ bits: Identifier128) {
        bits.withUTF8 { plainString($0) }
    }

    mutating func hybridTime(_ time: HybridTime) {
        string("\(time.wall.milliseconds).\(time.counter)")
    }
}
