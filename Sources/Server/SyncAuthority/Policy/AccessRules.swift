public import SyncModel

/// The rights of principals in spaces. Access that no rule grants is denied (I21).
public struct AccessRules: Hashable, Sendable {
    public var rules: [Rule]
    /// A further check of what the rules grant; nil checks nothing.
    public var check: AccessCheck?

    public init(_ rules: [Rule], check: AccessCheck? = nil) {
        self.rules = rules
        self.check = check
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
            && check?.allows(principal, space, .read) ?? true
    }

    public func mayWrite(_ space: SpaceID, _ principal: Principal) -> Bool {
        rules.contains {
            $0.access == .readAndWrite && $0.spaces.contains(space) && $0.principals.contains(principal)
        } && check?.allows(principal, space, .readAndWrite) ?? true
    }
}

/// An application's own response to the question who may read or write in a space.
///
/// It is asked often, even while the database is locked: answer at once, from memory, and the same for the same rights. Whoever may
/// write must be allowed to read.
public struct AccessCheck: Sendable {
    /// Tells checks apart: two of one name are the same check.
    public let name: String
    public let allows: @Sendable (Principal, SpaceID, AccessRules.Access) -> Bool

    public init(name: String, allows: @escaping @Sendable (Principal, SpaceID, AccessRules.Access) -> Bool) {
        self.name = name
        self.allows = allows
    }
}

extension AccessCheck: Hashable {
    public static func == (left: AccessCheck, right: AccessCheck) -> Bool { left.name == right.name }

    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
