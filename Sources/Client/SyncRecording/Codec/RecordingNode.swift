import SyncCore
import SyncJSON
import SyncModel

/// A value of a line, and its path, which errors name.
struct RecordingNode {
    let value: JSONValue
    /// A path such as `turn.event.at`; empty at the top.
    let path: String

    init(_ value: JSONValue, path: String = "") {
        self.value = value
        self.path = path
    }

    func wrong(_ expected: String) -> RecordingError {
        RecordingError("\(path.isEmpty ? "the line" : path): expected \(expected)")
    }

    // MARK: Members

    func member(_ key: String) throws(RecordingError) -> RecordingNode {
        guard let node = optional(key) else { throw wrong("an object with the key \"\(key)\"") }
        return node
    }

    /// Returns a member; nil when it is missing or null.
    func optional(_ key: String) -> RecordingNode? {
        guard let found = value[key], found != .null else { return nil }
        return RecordingNode(found, path: path.isEmpty ? key : path + "." + key)
    }

    /// Returns the values of an array's elements.
    func list<Element>(
        of element: (RecordingNode) -> () throws(RecordingError) -> Element,
        upTo limit: Int = RecordingBounds.transactions
    ) throws(RecordingError) -> [Element] {
        try list(limit) { node throws(RecordingError) in try element(node)() }
    }

    func list<Element>(
        _ limit: Int = RecordingBounds.transactions,
        _ element: (RecordingNode) throws(RecordingError) -> Element
    ) throws(RecordingError) -> [Element] {
        guard case .array(let values) = value else { throw wrong("an array") }
        guard values.count <= limit else { throw wrong("an array of at most \(limit) elements") }
        var result: [Element] = []
        for (index, value) in values.enumerated() {
            result.append(try element(RecordingNode(value, path: "\(path)[\(index)]")))
        }
        return result
    }

    // MARK: Plain values

    func text(_ limit: Int = RecordingBounds.nameBytes) throws(RecordingError) -> String {
        guard case .string(let text) = value, text.utf8.count <= limit else {
            throw wrong("text of at most \(limit) bytes")
        }
        return text
    }

    func boolean() throws(RecordingError) -> Bool {
        guard case .boolean(let bool) = value else { throw wrong("true or false") }
        return bool
    }

    func integer(_ range: ClosedRange<Int64>) throws(RecordingError) -> Int64 {
        guard case .integer(let number) = value, range.contains(number) else {
            throw wrong("a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    func count() throws(RecordingError) -> Int {
        Int(try integer(0...RecordingBounds.largestNumber))
    }

    func real(_ range: ClosedRange<Double>) throws(RecordingError) -> Double {
        switch value {
        case .real(let number) where range.contains(number): return number
        case .integer(let number) where range.contains(Double(number)): return Double(number)
        case .null, .boolean, .integer, .real, .string, .array, .object:
            throw wrong("a number from \(range.lowerBound) to \(range.upperBound)")
        }
    }

    func choice<Value: RawRepresentable<String> & CaseIterable>(
        _ type: Value.Type = Value.self
    ) throws(RecordingError) -> Value {
        guard let choice = Value(rawValue: try text()) else {
            throw wrong("one of: \(Value.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return choice
    }

    // MARK: Values of the engine

    func duration() throws(RecordingError) -> Duration {
        guard let duration = SecondsText.duration(try text()) else {
            throw wrong("seconds such as \"0.25\", less than \(RecordingBounds.longestDuration)")
        }
        return duration
    }

    func serial() throws(RecordingError) -> Serial { Serial(rawValue: try count()) }

    func version() throws(RecordingError) -> Version {
        Version(try integer(0...RecordingBounds.largestNumber))
    }

    func number() throws(RecordingError) -> TransactionNumber {
        TransactionNumber(try integer(0...RecordingBounds.largestNumber))
    }

    func space() throws(RecordingError) -> SpaceID {
        guard let space = SpaceID(rawValue: try text()) else { throw wrong("the name of a space") }
        return space
    }

    func epoch() throws(RecordingError) -> Epoch { Epoch(rawValue: try text()) }
    func account() throws(RecordingError) -> AccountID { AccountID(rawValue: try text()) }

    func resetReason() throws(RecordingError) -> ResetReason {
        guard let reason = ResetReason(rawValue: try text()) else { throw wrong("one of: horizon, epoch, cursor") }
        return reason
    }

    func cursor() throws(RecordingError) -> Cursor { Cursor(rawValue: try text()) }

    func draw() throws(RecordingError) -> UInt64 {
        let text = try text()
        guard text.utf8.count == 16, let number = UInt64(text, radix: 16), !text.hasPrefix("+") else {
            throw wrong("16 hexadecimal digits")
        }
        return number
    }

    func hybridTime() throws(RecordingError) -> HybridTime {
        let parts = try text().split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let milliseconds = Int64(parts[0]), let counter = UInt16(parts[1]),
            (0...HybridTime.latestWall.milliseconds).contains(milliseconds)
        else { throw wrong("a time \"<milliseconds since 1970>.<counter>\"") }
        return HybridTime(wall: WallTime(milliseconds: milliseconds), counter: counter)
    }

    func wallTime() throws(RecordingError) -> WallTime {
        WallTime(milliseconds: try integer(-RecordingBounds.largestNumber...RecordingBounds.largestNumber))
    }
}

extension JSONWriter {
    mutating func member(_ key: StaticString, _ duration: Duration) {
        member(key, SecondsText.text(duration))
    }
}
