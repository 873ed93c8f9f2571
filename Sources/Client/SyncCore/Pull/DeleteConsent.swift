/// A person's consent to the deletions that the mass-delete brake holds back.
package struct DeleteConsent: Hashable, Sendable {
    /// Number of deletions that a person was last asked about; nil when there is no open question.
    package private(set) var asked: Int?
    /// Number of deletions that a person has agreed to while the server was being asked again.
    package private(set) var granted: Int?

    package init(asked: Int? = nil, granted: Int? = nil) {
        self.asked = asked
        self.granted = granted
    }

    /// Asks a new question. An earlier consent does not answer it.
    mutating func ask(about deletes: Int) {
        asked = deletes
        granted = nil
    }

    /// Records a person's consent to the open question. Does nothing when there is none.
    mutating func grant() {
        if let asked { granted = asked }
    }

    /// Returns whether a person has agreed to at least this many deletions. If so, the consent is used up.
    mutating func use(for deletes: Int) -> Bool {
        guard let agreed = granted, deletes <= agreed else { return false }
        granted = nil
        return true
    }
}
