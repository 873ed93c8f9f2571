/// The limits of the scanner.
package enum JSONLimits {
    /// How deep arrays and objects may lie in each other: skipping recurses, and the stack is finite.
    package static let depth = 64
    /// Up to this many keys of one object are compared one by one; beyond, a set keeps the work linear (S16).
    static let keysComparedOneByOne = 24
}
