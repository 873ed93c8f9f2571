import SyncModel

extension SpaceID {
    /// Parses the name of a space on the command line.
    init(argument: String) throws(CommandError) {
        guard let space = SpaceID(rawValue: argument) else {
            throw CommandError(
                .usage, "'\(argument)' is not the name of a space",
                advice:
                    "a name has up to 63 lower-case letters, digits, and underscores, and begins with a letter, such as team_7"
            )
        }
        self = space
    }
}
