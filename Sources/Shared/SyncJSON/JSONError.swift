/// An error in a JSON text, with its position.
package struct JSONError: Error, Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// The text is not JSON, or is JSON that this reader rejects: a repeated key, too much nesting, a lone
        /// surrogate.
        case syntax
        /// The text is JSON, but not the value that was expected at this position.
        case content
        /// The value has the expected form but does not match its own checksum.
        case damage
    }

    package let kind: Kind
    /// The offset of the byte at fault, counted from 0.
    package let offset: Int
    /// The message: what was found, and what was expected.
    package let problem: String
    /// The path to the value, such as `page.commits[3].version`; empty at the top level.
    package internal(set) var path = ""

    package init(_ kind: Kind, at offset: Int, _ problem: String) {
        self.kind = kind
        self.offset = offset
        self.problem = problem
    }
}

extension JSONError: CustomStringConvertible {
    package var description: String {
        path.isEmpty ? "byte \(offset): \(problem)" : "byte \(offset), \(path): \(problem)"
    }
}

/// Finds the path to the value at a byte offset.
///
/// This scan runs only after an error, so that successful reads do not pay for it. The bytes before the error have
/// already been read. For text that is not JSON, the path goes as deep as the text can be interpreted.
struct JSONPath {
    private enum Step {
        case member(String)
        case element(Int)
    }

    static func path(to offset: Int, in bytes: UnsafeBufferPointer<UInt8>) -> String {
        var steps: [Step] = []
        var position = 0
        var text = 0..<0
        while position < min(offset, bytes.count) {
            switch bytes[position] {
            case UInt8(ascii: "{"): steps.append(.member(""))
            case UInt8(ascii: "["): steps.append(.element(0))
            case UInt8(ascii: "}"), UInt8(ascii: "]"): _ = steps.popLast()
            case UInt8(ascii: ","):
                if case .element(let index)? = steps.last { steps[steps.count - 1] = .element(index + 1) }
                if case .member? = steps.last { steps[steps.count - 1] = .member("") }
            case UInt8(ascii: ":"):
                if case .member? = steps.last {
                    steps[steps.count - 1] = .member(JSONKey.shown(bytes[text]))
                }
            case UInt8(ascii: "\""):
                let start = position + 1
                position = start
                while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
                    position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
                }
                text = start..<min(position, bytes.count)
            default: break
            }
            position += 1
        }
        return steps.reduce(into: "") { path, step in
            switch step {
            case .member(""): break
            case .member(let name): path += path.isEmpty ? name : ".\(name)"
            case .element(let index): path += "[\(index)]"
            }
        }
    }
}
