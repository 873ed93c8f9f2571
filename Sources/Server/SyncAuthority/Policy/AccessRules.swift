public import SyncModel

/// The rights of principals in spaces. Access that no rule grants is denied (I21).
public struct AccessRules: Hashable, Sendable {
    /// The rules, in any order. Without rules, nobody has access.
    public var rules: [Rule]
    /// A further check of the access that the rules or the members grant; nil for none.
    public var check: AccessCheck?
    /// Whether the members that the store keeps decide about their spaces. The rules then hold only for spaces without
    /// members.
    public var membersDecide: Bool

    /// Creates rules. `check` can only take rights away.
    public init(_ rules: [Rule], check: AccessCheck? = nil, membersDecide: Bool = false) {
        self.rules = rules
        self.check = check
        self.membersDecide = membersDecide
    }

    /// The rules for a small application with one space: every authenticated principal may read and write it.
    public static let everyoneInDefaultSpace = AccessRules([
        Rule(principals: .everyone, spaces: .only([.default]), access: .readAndWrite)
    ])

    /// The rules of a server without rules of its application: a space with members is open to them, according to their
    /// roles, and closed to everybody else. Without members, the space `default` is open to every authenticated
    /// principal, and any other space to nobody.
    public static let members = AccessRules(everyoneInDefaultSpace.rules, membersDecide: true)

    /// A rule that grants some principals access to some spaces.
    public struct Rule: Hashable, Sendable {
        /// The principals to whom the rule grants access.
        public var principals: Principals
        /// The spaces to which the rule grants access.
        public var spaces: Spaces
        /// The access that the rule grants. A principal has the sum of all rules.
        public var access: Access

        /// Creates a rule, which can only add rights.
        public init(principals: Principals, spaces: Spaces, access: Access) {
            self.principals = principals
            self.spaces = spaces
            self.access = access
        }
    }

    /// A set of principals.
    public enum Principals: Hashable, Sendable {
        /// Every authenticated principal.
        case everyone
        /// The principals with these names.
        case only(Set<Principal>)

        func contains(_ principal: Principal) -> Bool {
            switch self {
            case .everyone: true
            case .only(let principals): principals.contains(principal)
            }
        }
    }

    /// A set of spaces.
    public enum Spaces: Hashable, Sendable {
        /// Every space, including those that do not exist yet.
        case all
        /// These spaces, which need not exist yet.
        case only(Set<SpaceID>)

        func contains(_ space: SpaceID) -> Bool {
            switch self {
            case .all: true
            case .only(let spaces): spaces.contains(space)
            }
        }
    }

    /// A kind of access. Write access includes read access, because an outcome shows the values with which the
    /// transaction conflicted.
    public enum Access: Hashable, Sendable {
        /// Pulls, fetches, and hints.
        case read
        /// Pushes as well.
        case readAndWrite
    }

    /// Returns whether a principal may read a space, given the members of all spaces.
    public func mayRead(_ space: SpaceID, _ principal: Principal, members: SpaceMembers = SpaceMembers()) -> Bool {
        allows(.read, in: space, to: principal, members)
    }

    /// Returns whether a principal may write in a space, given the members of all spaces.
    public func mayWrite(_ space: SpaceID, _ principal: Principal, members: SpaceMembers = SpaceMembers()) -> Bool {
        allows(.readAndWrite, in: space, to: principal, members)
    }

    private func allows(
        _ access: Access, in space: SpaceID, to principal: Principal, _ members: SpaceMembers
    ) -> Bool {
        grants(access, in: space, to: principal, members) && check?.allows(principal, space, access) ?? true
    }

    private func grants(
        _ access: Access, in space: SpaceID, to principal: Principal, _ members: SpaceMembers
    ) -> Bool {
        if membersDecide, let roles = members.roles(in: space) {
            return roles[principal].map { $0.access.includes(access) } ?? false
        }
        return rules.contains {
            $0.access.includes(access) && $0.spaces.contains(space) && $0.principals.contains(principal)
        }
    }
}

extension AccessRules.Access {
    fileprivate func includes(_ other: AccessRules.Access) -> Bool { self == .readAndWrite || other == .read }
}

/// An application's own check of a principal's access to a space.
///
/// The server calls the check often, even while it holds a lock of the database. The check must return immediately,
/// from memory. Its result may change only when the rights of the principal change. A principal that may write must
/// also be allowed to read.
public struct AccessCheck: Sendable {
    /// The identity of the check: two checks with the same name are equal.
    public let name: String
    /// Returns whether the principal has this access to the space. Called from any thread.
    public let allows: @Sendable (Principal, SpaceID, AccessRules.Access) -> Bool

    /// Creates a check.
    ///
    /// - Parameters:
    ///   - name: the identity of the check.
    ///   - allows: returns whether the principal has this access to the space.
    public init(name: String, allows: @escaping @Sendable (Principal, SpaceID, AccessRules.Access) -> Bool) {
        self.name = name
        self.allows = allows
    }
}

extension AccessCheck: Hashable {
    public static func == (left: AccessCheck, right: AccessCheck) -> Bool { left.name == right.name }

    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
