import Tombolo

/// One command of the command line.
enum Command: Equatable {
    case list(String), watch, add(String, [Detail]), edit(String, [Detail]), remove(String)
    case problems, retry(Int), discard(Int), sync(seconds: Int), status, help

    static let usage = """
        contacts [list [PREFIX]]         shows contacts
        contacts watch                   shows them now, and after each change of any device
        contacts add NAME [DETAIL…]      adds one: phone=, email=, company=, notes=
        contacts edit NAME DETAIL…       changes details; phone= removes the phone
        contacts remove NAME             NAME can also be an id, for contacts with the same name
        contacts problems                shows changes that the server rejected or lost, and values that lost \
        against other devices
        contacts retry NUMBER            writes again what a problem lost
        contacts discard NUMBER          accepts a problem
        contacts sync [SECONDS]          syncs now, and waits for it: up to 10 seconds, or the given number
        contacts status

        CONTACTS_SERVER_URL and CONTACTS_SERVER_TOKEN_FILE name the server and the file with the token.
        Exit status of sync: 0 in sync; 1 no server; 4 not in sync in time, and the changes are kept; 5 the server refuses
        the token, or the account may not read the contacts; 9 a person has to act; to agree to many deletions, run
        syncctl sync --allow-deletes --store FOLDER. Exit status of all commands: 0 done; 1 not done, and the message
        says why.
        """

    init(_ arguments: [String]) throws {
        let rest = Array(arguments.dropFirst())
        if arguments.contains("--help") {
            self = .help
            return
        }
        switch (arguments.first ?? "list", rest.count) {
        case ("list", 0...1): self = .list(rest.first ?? "")
        case ("watch", 0): self = .watch
        case ("add", 1...): self = .add(rest[0], try Detail.all(rest.dropFirst()))
        case ("edit", 2...): self = .edit(rest[0], try Detail.all(rest.dropFirst()))
        case ("remove", 1): self = .remove(rest[0])
        case ("problems", 0): self = .problems
        case ("retry", 1): self = .retry(try Self.number(rest[0], in: 1...Int.max, "number of a problem"))
        case ("discard", 1): self = .discard(try Self.number(rest[0], in: 1...Int.max, "number of a problem"))
        case ("sync", 0): self = .sync(seconds: 10)
        case ("sync", 1): self = .sync(seconds: try Self.number(rest[0], in: 0...3_600, "number of seconds, 0 to 3600"))
        case ("status", 0): self = .status
        case ("help", _): self = .help
        default:
            let form = Self.usage.split(separator: "\n").first {
                $0.contains("contacts [\(arguments[0])") || $0.contains("contacts \(arguments[0])")
            }
            throw BookError(
                form.map { "'\(arguments.joined(separator: " "))': expected \($0.split(separator: "  ")[0])" }
                    ?? "there is no command '\(arguments[0])'\n\(Self.usage)")
        }
    }

    private static func number(_ text: String, in range: ClosedRange<Int>, _ expected: String) throws -> Int {
        guard let number = Int(text), range.contains(number) else {
            throw BookError("'\(text)': expected the \(expected)")
        }
        return number
    }

    /// Carries out the command. Does nothing for `help`, `sync`, and `status`, which need no contact book.
    ///
    /// - Parameter show: prints a line.
    func run(on book: ContactBook, show: (String) throws -> Void) async throws {
        switch self {
        case .list(let prefix): for contact in try await book.contacts(prefix).all() { try show(contact.line) }
        case .watch:
            for try await contacts in book.contacts().updates {
                try show("— \(contacts.count) contacts —")
                for contact in contacts { try show(contact.text) }
            }
        case .add(let name, let details): try await book.add(name, details)
        case .edit(let name, let details): try await book.edit(name, details)
        case .remove(let name): try await book.contact(named: name).delete()
        case .problems: for line in try book.problems() { try show(line.printable) }
        case .retry(let number): try book.retry(Int64(number))
        case .discard(let number): try book.discard(Int64(number))
        case .help, .sync, .status: break
        }
    }
}

extension Live<Contact> {
    /// The contact on one line, with a mark when the server has not confirmed it.
    var line: String {
        let mark =
            switch try? sync {
            case .rejected?: " [rejected: see contacts problems]"
            case .pending?, .unsaved?: " [not confirmed]"
            case .synced?, nil: ""
            }
        return text + mark
    }

    /// The contact on one line, without the mark: the updates of a query report changes of this text, but not every
    /// change of the mark.
    var text: String {
        // A deleted company has no name.
        let employer = self.company.flatMap { $0.presence == .here ? "at \($0.name)" : nil }
        return [self.name, self.phone, self.email, employer, self.notes].compactMap(\.self).joined(separator: "  ")
            .printable
    }
}

extension String {
    /// The text with spaces in place of characters that a terminal obeys: control characters, line breaks, and marks
    /// that change the direction of writing. Another person or a server may have written the text.
    var printable: String {
        String(
            String.UnicodeScalarView(
                unicodeScalars.map { scalar in
                    switch scalar.properties.generalCategory {
                    case .control, .lineSeparator, .paragraphSeparator: " "
                    // Emoji and some scripts need the joiners among the format characters.
                    case .format: scalar.properties.isBidiControl ? " " : scalar
                    default: scalar
                    }
                }))
    }
}
