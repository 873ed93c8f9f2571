import ArgumentParser

/// The option of the space in which a command creates a record.
struct NewRecordSpace: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Space of the new record. Default: the space of the records that it refers to, or else 'default'.",
            valueName: "name"))
    var space: String?
}
