/// The limits of the JSON reader.
package enum JSONLimits {
    /// Maximum nesting depth of arrays and objects. Skipping a value recurses, and the stack is finite.
    package static let depth = 64
    /// Number of keys of one object that are compared one by one. Beyond it, a set keeps the work linear (S16).
    static let keysComparedOneByOne = 24
}
