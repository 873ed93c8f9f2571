package import SyncModel

extension PullMachine {
    /// The reason for a pull.
    enum Reason: Hashable, Sendable {
        /// A hint has announced this version.
        case hint(Version)
        /// The server has answered a push, so its effect can be pulled.
        case response
        /// Contact with the server was made. This ends a back-off, but not the wait before a fresh snapshot: contact
        /// alone does not show that the server no longer contradicts itself.
        case contact
        /// The application or the user requests a pull, even during a back-off.
        case request
    }

    /// The step that follows the current pull.
    package enum FollowUp: Hashable, Sendable {
        case rest
        /// Pull again, because a hint named this version meanwhile, unless the current page covers it.
        case until(Version)
        /// Pull again in any case: the current response may predate the request that came meanwhile.
        case again
    }
}

extension PullMachine.FollowUp {
    func joined(with reason: PullMachine.Reason) -> PullMachine.FollowUp {
        switch (self, reason) {
        case (.again, _), (_, .response), (_, .contact), (_, .request): .again
        case (.until(let earlier), .hint(let version)): .until(max(earlier, version))
        case (.rest, .hint(let version)): .until(version)
        }
    }

    func requestsPull(at head: Version) -> Bool {
        switch self {
        case .rest: false
        case .until(let version): head < version
        case .again: true
        }
    }
}
