package import SyncModel

/// A reader of the accounts of a machine in the format of passwd(5), as `getent passwd` prints them.
///
/// Each account becomes a user. Its comment, if any, becomes a profile with the full name, and its picture, if any, an
/// avatar whose author is that user.
package struct AccountImport: Sendable {
    let mapping: AccountMapping
    let pictureExists: @Sendable (String) -> Bool

    /// Creates a reader.
    ///
    /// - Parameters:
    ///   - mapping: The collections and fields that receive the accounts.
    ///   - pictureExists: Returns whether there is a readable picture at a path.
    package init(mapping: AccountMapping, pictureExists: @escaping @Sendable (String) -> Bool) {
        self.mapping = mapping
        self.pictureExists = pictureExists
    }

    /// Returns the rows of each account and, for each line that cannot be imported, its error.
    package func read(_ bytes: [UInt8]) -> ImportedRows {
        var result = ImportedRows()
        var seen: Set<String> = []
        for (number, line) in InputLines(bytes) where !line.isBlank {
            do throws(ImportError) {
                let account = try Account(line, number)
                guard seen.insert(account.name).inserted else {
                    throw ImportError(line: number, "the account '\(account.name)' occurs twice")
                }
                result.rows += try rows(of: account, number)
            } catch {
                result.problems.append(error)
            }
        }
        return result
    }

    /// One line of passwd(5).
    private struct Account {
        let name: String
        let comment: String
        let home: String

        init(_ line: ArraySlice<UInt8>, _ number: Int) throws(ImportError) {
            guard line.count <= ImportLimits.rowBytes, let text = line.validText else {
                throw ImportError(
                    line: number, "the line is not UTF-8, or longer than \(ImportLimits.rowBytes) bytes")
            }
            let parts = text.parts(UInt8(ascii: ":"))
            guard parts.count == 7 else {
                throw ImportError(
                    line: number, "\(parts.count) parts; expected 7: name:password:uid:group:comment:home:shell")
            }
            guard !parts[0].isEmpty, !parts[0].hasPrefix("+"), !parts[0].hasPrefix("-") else {
                throw ImportError(line: number, "'\(parts[0].prefix(32))' is not a valid account name")
            }
            guard UInt32(parts[2]) != nil else {
                throw ImportError(
                    line: number, "the uid '\(parts[2].prefix(32))' is not a number from 0 to \(UInt32.max)")
            }
            name = parts[0]
            // The comment may contain office and telephone after commas; the first part is the person's name.
            comment = parts[4].parts(UInt8(ascii: ",")).first ?? ""
            home = parts[5]
        }

        /// The paths where desktop environments store the picture of an account.
        var picturePaths: [String] {
            ["/var/lib/AccountsService/icons/\(name)"] + (home.hasPrefix("/") ? ["\(home)/.face"] : [])
        }
    }

    private func rows(of account: Account, _ line: Int) throws(ImportError) -> [ImportRow] {
        let picture = account.name.contains("/") ? nil : account.picturePaths.first(where: pictureExists)
        var user = RowBuilder(schema: mapping.user, line: line)
        try user.setKey(account.name)
        try user.set(try user.field(mapping.username.rawValue), to: .text(account.name))
        if picture != nil { try user.setReference(try user.field(mapping.userAvatar.rawValue), to: "@\(account.name)") }
        var rows = [try user.finish(fallbackKey: nil)]
        if !account.comment.isEmpty {
            var profile = RowBuilder(schema: mapping.profile, line: line)
            try profile.setKey(account.name)
            try profile.setReference(try profile.field(mapping.profileUser.rawValue), to: "@\(account.name)")
            try profile.set(try profile.field(mapping.fullName.rawValue), to: .text(account.comment))
            rows.append(try profile.finish(fallbackKey: nil))
        }
        if let picture {
            var avatar = RowBuilder(schema: mapping.avatar, line: line)
            try avatar.setKey(account.name)
            try avatar.set(
                try avatar.field(mapping.image.rawValue), to: .text("file://" + PercentEncoding.path(picture)))
            try avatar.setReference(try avatar.field(mapping.author.rawValue), to: "@\(account.name)")
            rows.append(try avatar.finish(fallbackKey: nil))
        }
        return rows
    }
}

/// The collections and fields that receive the data of an account.
///
/// The account's numeric id is not imported, because the server assigns the uids of records.
package struct AccountMapping: Hashable, Sendable {
    package let user: ModelSchema
    package let username: FieldName
    package let userAvatar: FieldName
    package let profile: ModelSchema
    package let profileUser: FieldName
    package let fullName: FieldName
    package let avatar: ModelSchema
    package let image: FieldName
    package let author: FieldName

    package init(
        user: ModelSchema, username: FieldName, userAvatar: FieldName, profile: ModelSchema, profileUser: FieldName,
        fullName: FieldName, avatar: ModelSchema, image: FieldName, author: FieldName
    ) {
        self.user = user
        self.username = username
        self.userAvatar = userAvatar
        self.profile = profile
        self.profileUser = profileUser
        self.fullName = fullName
        self.avatar = avatar
        self.image = image
        self.author = author
    }
}

extension String {
    /// The parts between separators. Code units are compared, because a separator and a combining mark after it form
    /// one character.
    fileprivate func parts(_ separator: UInt8) -> [String] {
        utf8.split(separator: separator, omittingEmptySubsequences: false).map { String(Substring($0)) }
    }
}
