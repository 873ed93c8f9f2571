/// A pull parser for JSON: it reads bytes value by value, without building a tree and without `Foundation`.
///
/// The reader is strict. It checks UTF-8, and it rejects repeated keys in one object, lone surrogates, numbers beyond
/// the range of a double, nesting deeper than `JSONLimits.depth`, and anything after the value. Decision 2 explains why
/// Foundation's decoder is not used.
///
/// A method that reads a value leaves the reader after that value. After a method has thrown, the reader must not be
/// used again.
package struct JSONReader: ~Copyable {
    let bytes: UnsafeBufferPointer<UInt8>
    /// The offset of the next byte to read.
    package internal(set) var position = 0
    private var depth = 0
    /// The keys read so far in all open objects, the outermost object first.
    private var keys: [JSONKey] = []

    private init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
        // As many as an ordinary message has at once, so that the array need not grow.
        keys.reserveCapacity(16)
    }

    /// Reads one value that spans all of `bytes` except white space. A thrown error carries the path to the error.
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

    /// Reads `null` and returns true if it comes next; otherwise reads nothing.
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

    /// The state of reading one object: `beginObject` creates it, and each `nextKey` updates it.
    package struct Members: ~Copyable {
        fileprivate let base: Int
        /// Whether each key must come after the one before.
        fileprivate let isSorted: Bool
        fileprivate var last: UnsafeBufferPointer<UInt8>?
        fileprivate var isFirst = true
        fileprivate var many: Set<[UInt8]> = []
    }

    package mutating func beginObject() throws(JSONError) -> Members {
        try beginObject(isSorted: false)
    }

    /// Begins an object whose keys must have no escapes and be in the order of their bytes. Such keys need not be
    /// remembered to refuse repeated ones.
    package mutating func beginSortedObject() throws(JSONError) -> Members {
        try beginObject(isSorted: true)
    }

    private mutating func beginObject(isSorted: Bool) throws(JSONError) -> Members {
        guard next() == UInt8(ascii: "{") else { throw unexpected("an object") }
        try descend()
        return Members(base: keys.count, isSorted: isSorted)
    }

    /// Reads the next key and its colon, so that its value comes next. Returns nil once, after the last member.
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
        if members.isSorted {
            guard !key.isEscaped, members.last.map({ JSONKey.precedes($0, key.bytes) }) ?? true else {
                throw JSONError(.content, at: key.offset, "\(key.quoted) is not in the order of the names")
            }
            members.last = key.bytes
        } else {
            try refuseRepeated(key, &members)
        }
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

    /// The state of reading one array: `beginArray` creates it, and each `nextElement` updates it.
    package struct Elements: ~Copyable {
        fileprivate var isFirst = true
    }

    package mutating func beginArray() throws(JSONError) -> Elements {
        guard next() == UInt8(ascii: "[") else { throw unexpected("an array") }
        try descend()
        return Elements()
    }

    /// Returns whether another element comes next. Returns false once, after the last element.
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

    /// Reads any value and discards it. The value must be valid JSON.
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

    /// Reads any value and returns its text unchanged.
    package mutating func verbatim() throws(JSONError) -> String {
        _ = next()
        let start = position
        try skip()
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    // MARK: Bytes

    /// Skips white space and returns the next byte; 0, which begins no value, at the end of the text.
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
                .syntax, at: position, "arrays and objects are nested more than \(JSONLimits.depth) deep")
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

    /// Returns the error for an unexpected byte at the current position.
    func unexpected(_ expected: String) -> JSONError {
        guard position < bytes.count else {
            return JSONError(.syntax, at: position, "expected \(expected), found the end of the text")
        }
        let byte = bytes[position]
        let found =
            (0x20..<0x7F).contains(byte) ? "'\(Character(UnicodeScalar(byte)))'" : "byte 0x\(String(byte, radix: 16))"
        return JSONError(.syntax, at: position, "expected \(expected), found \(found)")
    }
}
