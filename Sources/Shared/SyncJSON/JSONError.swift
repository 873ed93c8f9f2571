/// An error in a JSON text, and its place.
package struct JSONError: Error, Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// It is not JSON, or JSON that is refused: two equal keys, too deep, a lone surrogate.
        case syntax
        /// It is JSON, but not what was expected at this place.
        case content
        /// It is as expected, but does not match its own checksum.
        case damage
    }

    package let kind: Kind
    /// The byte at fault, counted from 0.
    package let offset: Int
    /// Says what was found, and what was expected.
    package let problem: String
    /// Where in the tree, such as `page.commits[3].version`; empty at the top.
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

/// Finds out in which member of which array or object a byte lies.
///
/// Only done once something is wrong, so that reading does not pay for it. The bytes before the fault have been read
/// already; a text that is no JSON gives the longest path that makes sense.
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
