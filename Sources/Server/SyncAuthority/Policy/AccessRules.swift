public import SyncModel

/// The rights of principals in spaces. Access that no rule grants is denied (I21).
public struct AccessRules: Hashable, Sendable {
    public var rules: [Rule]

    public init(_ rules: [Rule]) {
        self.rules = rules
    }

    /// The rules for a small application with one space: every authenticated principal may read and write it.
    public static let everyoneInDefaultSpace = AccessRules([
        Rule(principals: .everyone, spaces: .only([.default]), access: .readAndWrite)
    ])

    /// A rule that grants some principals access to some spaces.
    public struct Rule: Hashable, Sendable {
        public var principals: Principals
        public var spaces: Spaces
        public var access: Access

        public init(principals: Principals, spaces: Spaces, access: Access) {
            self.principals = principals
            self.spaces = spaces
            self.access = access
        }
    }

    public enum Principals: Hashable, Sendable {
        /// Every authenticated principal.
        case everyone
        case only(Set<Principal>)

        func contains(_ principal: Principal) -> Bool {
            switch self {
            case .everyone: true
            case .only(let principals): principals.contains(principal)
            }
        }
    }

    public enum Spaces: Hashable, Sendable {
        case all
        case only(Set<SpaceID>)

        func contains(_ space: SpaceID) -> Bool {
            switch self {
            case .all: true
            case .only(let spaces): spaces.contains(space)
            }
        }
    }

    /// A kind of access. Write access includes read access, because an outcome shows the values that it conflicted
    /// with.
    public enum Access: Hashable, Sendable {
        case read
        case readAndWrite
    }

    public func mayRead(_ space: SpaceID, _ principal: Principal) -> Bool {
        rules.contains { $0.spaces.contains(space) && $0.principals.contains(principal) }
    }

    public func mayWrite(_ space: SpaceID, _ principal: Principal) -> Bool {
        rules.contains {
            $0.access == .readAndWrite && $0.spaces.contains(space) && $0.principals.contains(principal)
        }
    }
}
