/// The words of one line of a script, read from left to right.
struct ScriptWords {
    /// The error for an unexpected word, or for a line that ends too early.
    struct Unexpected: Error {
        let message: String

        init(message: String) {
            self.message = message
        }

        init(_ word: String?, expected: String) {
            message =
                (word.map { "\"\($0)\" is not understood" } ?? "the line ends too early") + "; expected \(expected)"
        }
    }

    /// The longest time in a script, in microseconds: ten years, so that no clock of a world overflows.
    static let longestTime: Int64 = 10 * 366 * 86_400 * 1_000_000

    private var rest: ArraySlice<String>

    init(_ line: Substring) {
        rest = line.split(whereSeparator: \.isWhitespace).map(String.init)[...]
    }

    var isEmpty: Bool { rest.isEmpty }
    var first: String? { rest.first }
    var joined: String { rest.joined(separator: " ") }

    mutating func skip() {
        rest = rest.dropFirst()
    }

    func unexpected(_ expected: String) -> Unexpected {
        Unexpected(first, expected: expected)
    }

    mutating func expect(_ word: String) throws(Unexpected) {
        guard first == word else { throw unexpected("\"\(word)\"") }
        skip()
    }

    func end() throws(Unexpected) {
        guard rest.isEmpty else { throw unexpected("the end of the line") }
    }

    mutating func number(_ range: ClosedRange<Int64>) throws(Unexpected) -> Int64 {
        guard let number = first.flatMap({ Int64($0) }), range.contains(number) else {
            throw unexpected("a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        skip()
        return number
    }

    mutating func seed() throws(Unexpected) -> UInt64 {
        guard let number = first.flatMap({ UInt64($0) }) else {
            throw unexpected("a seed: a whole number from 0 to \(UInt64.max)")
        }
        skip()
        return number
    }

    mutating func fraction() throws(Unexpected) -> Double {
        guard let number = first.flatMap({ Double($0) }), (0...1).contains(number) else {
            throw unexpected("a number from 0 to 1")
        }
        skip()
        return number
    }

    mutating func oneOf<Value>(_ choices: [String: Value]) throws(Unexpected) -> Value {
        guard let value = first.flatMap({ choices[$0] }) else {
            throw unexpected("one of \(choices.keys.sorted().joined(separator: ", "))")
        }
        skip()
        return value
    }

    /// Reads names that are joined by "+", and returns their indices.
    mutating func names(among names: [String]) throws(Unexpected) -> [Int] {
        let places = (first ?? "").split(separator: "+").map { name in names.firstIndex(of: String(name)) }
        guard !places.isEmpty, !places.contains(nil) else {
            throw unexpected("some of \(names.joined(separator: ", ")), joined by \"+\"")
        }
        skip()
        return places.compactMap { $0 }
    }

    mutating func party() throws(Unexpected) -> Party {
        if first == "server" {
            skip()
            return .server
        }
        guard let word = first, word.hasPrefix("device"), let place = Int(word.dropFirst("device".count)),
            (0..<64).contains(place)
        else { throw unexpected("\"server\", or a device such as \"device0\", up to \"device63\"") }
        skip()
        return .device(place)
    }
}
