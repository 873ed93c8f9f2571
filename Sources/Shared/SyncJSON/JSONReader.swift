/// Reads JSON from bytes, value by value, as its caller asks: no tree, no `Foundation`.
///
/// Strict: UTF-8 is checked, equal keys in one object are refused, and so are lone surrogates, numbers that are not
/// finite, more depth than `JSONLimits.depth`, and anything behind the value. Why not Foundation's decoder: decision 2.
///
/// Each method reads one value and leaves the reader behind it. It throws, and is then of no further use, when the
/// value is not there.
package struct JSONReader: ~Copyable {
    let bytes: UnsafeBufferPointer<UInt8>
    /// The next byte to read.
    package internal(set) var position = 0
    private var depth = 0
    /// The keys of all objects that are open, the outermost first.
    private var keys: [JSONKey] = []

    private init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    /// Reads one value that fills `bytes` but for white space. An error says where in the tree it was found.
    package static func read<Value>(
        _ bytes: UnsafeBufferPointer<UInt8>, _ body: (inout JSONReader) throws(JSONError) -> Value
    ) throws(JSONError) -> Value {
        do throws(JSONError) {
            var reader = JSONReader(bytes)
            let value = try body(&reader)
            reader.skipSpace()
            if reader.position < bytes.count { throw reader.unexpected("the end of the text") }
            return value
        } catch {
            var error = error
            error.path = JSONPath.path(to: error.offset, in: bytes)
            throw error
        }
    }

    package static func read<Value>(
        _ bytes: [UInt8], _ body: (inout JSONReader) throws(JSONError) -> Value
    ) throws(JSONError) -> Value {
        try bytes.withUnsafeBufferPointer { (bytes) throws(JSONError) in try read(bytes, body) }
    }

    /// The kind of the next value.
    package enum Kind: Hashable, Sendable {
        case null, boolean, number, string, array, object
    }

    package mutating func kind() throws(JSONError) -> Kind {
        switch next() {
        case UInt8(ascii: "n"): return .null
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return .boolean
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number
        case UInt8(ascii: "\""): return .string
        case UInt8(ascii: "["): return .array
        case UInt8(ascii: "{"): return .object
        default: throw unexpected("a value")
        }
    }

    /// Reads `null` when it comes next; otherwise reads nothing.
    package mutating func null() throws(JSONError) -> Bool {
        guard next() == UInt8(ascii: "n") else { return false }
        try word("null")
        return true
    }

    package mutating func boolean() throws(JSONError) -> Bool {
        switch next() {
        case UInt8(ascii: "t"):
            try word("true")
            return true
        case UInt8(ascii: "f"):
            try word("false")
            return false
        default: throw unexpected("true or false")
        }
    }

    // MARK: Objects

    /// Where a caller stands in one object: made by `beginObject`, carried through `nextKey`.
    package struct Members: ~Copyable {
        fileprivate let base: Int
        fileprivate var isFirst = true
        fileprivate var many: Set<[UInt8]> = []
    }

    package mutating func beginObject() throws(JSONError) -> Members {
        guard next() == UInt8(ascii: "{") else { throw unexpected("an object") }
        try descend()
        return Members(base: keys.count)
    }

    /// Reads the next key and its colon, so that its value comes next; nil, once, behind the last member.
    package mutating func nextKey(_ members: inout Members) throws(JSONError) -> JSONKey? {
        let byte = next()
        if byte == UInt8(ascii: "}") {
            position += 1
            depth -= 1
            keys.removeLast(keys.count - members.base)
            return nil
        }
        if members.isFirst {
            members.isFirst = false
        } else {
            guard byte == UInt8(ascii: ",") else { throw unexpected("',' or '}'") }
            position += 1
        }
        guard next() == UInt8(ascii: "\"") else { throw unexpected("a key in double quotes") }
        let start = position
        let slice = try scanString()
        let key = JSONKey(bytes: slice.bytes, isEscaped: slice.isEscaped, offset: start)
        try refuseRepeated(key, &members)
        guard next() == UInt8(ascii: ":") else { throw unexpected("':'") }
        position += 1
        return key
    }

    private mutating func refuseRepeated(_ key: JSONKey, _ members: inout Members) throws(JSONError) {
        let count = keys.count - members.base
        var isRepeated = false
        if count < JSONLimits.keysComparedOneByOne {
            for index in members.base..<keys.count where keys[index] == key { isRepeated = true }
        } else {
            if members.many.isEmpty {
                for index in members.base..<keys.count { members.many.insert(keys[index].decoded) }
            }
            isRepeated = !members.many.insert(key.decoded).inserted
        }
        if isRepeated { throw JSONError(.syntax, at: key.offset, "key \(key.quoted) occurs twice in one object") }
        if count < JSONLimits.keysComparedOneByOne { keys.append(key) }
    }

    // MARK: Arrays

    /// Where a caller stands in one array: made by `beginArray`, carried through `nextElement`.
    package struct Elements: ~Copyable {
        fileprivate var isFirst = true
    }

    package mutating func beginArray() throws(JSONError) -> Elements {
        guard next() == UInt8(ascii: "[") else { throw unexpected("an array") }
        try descend()
        return Elements()
    }

    /// Whether another element comes next; false, once, behind the last one.
    package mutating func nextElement(_ elements: inout Elements) throws(JSONError) -> Bool {
        let byte = next()
        if byte == UInt8(ascii: "]") {
            position += 1
            depth -= 1
            return false
        }
        if elements.isFirst {
            elements.isFirst = false
        } else {
            guard byte == UInt8(ascii: ",") else { throw unexpected("',' or ']'") }
            position += 1
            if next() == UInt8(ascii: "]") { throw unexpected("a value") }
        }
        return true
    }

    // MARK: Whole values

    /// Reads any value and forgets it; it must be good JSON all the same.
    package mutating func skip() throws(JSONError) {
        switch try kind() {
        case .null: try word("null")
        case .boolean: _ = try boolean()
        case .number: _ = try number()
        case .string: _ = try scanString()
        case .array:
            var elements = try beginArray()
            while try nextElement(&elements) { try skip() }
        case .object:
            var members = try beginObject()
            while try nextKey(&members) != nil { try skip() }
        }
    }

    /// Reads any value and returns its text as it stands.
    package mutating func verbatim() throws(JSONError) -> String {
        _ = next()
        let start = position
        try skip()
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    // MARK: Bytes

    /// The next byte that is no white space; 0, which begins nothing, at the end.
    mutating func next() -> UInt8 {
        skipSpace()
        return position < bytes.count ? bytes[position] : 0
    }

    private mutating func skipSpace() {
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"): position += 1
            default: return
            }
        }
    }

    private mutating func descend() throws(JSONError) {
        guard depth < JSONLimits.depth else {
            throw JSONError(
                .syntax, at: position, "arrays and objects lie more than \(JSONLimits.depth) deep in each other")
        }
        depth += 1
        position += 1
    }

    private mutating func word(_ word: StaticString) throws(JSONError) {
        let matches = word.withUTF8Buffer { word in
            position + word.count <= bytes.count
                && UnsafeBufferPointer(rebasing: bytes[position..<position + word.count]).elementsEqual(word)
        }
        guard matches else { throw unexpected("'\(word)'") }
        position += word.utf8CodeUnitCount
    }

    /// The error for the byte at which the reader stands.
    func unexpected(_ expected: String) -> JSONError {
        guard position < bytes.count else {
            return JSONError(.syntax, at: position, "the text ends, \(expected) expected")
        }
        let byte = bytes[position]
        let found =
            (0x20..<0x7F).contains(byte) ? "'\(Character(UnicodeScalar(byte)))'" : "byte 0x\(String(byte, radix: 16))"
        return JSONError(.syntax, at: position, "\(found) found, \(expected) expected")
    }
}
