extension PlantedBug {
    /// The names of the bugs that `tools/test` plants. Each should be found in the first world, in about a second, and
    /// for each promise that worlds check, there is one that its oracle may find. `tools/check` plants all except the
    /// rare ones.
    static let quick: Set<String> = [
        // I1 to I4: no write is lost, repeated, reordered, or left unconfirmed.
        "flushed commits lost", "outcome of another", "plain appliesRepeatsAgain", "plain reordersResponses",
        "outbox counted as empty",
        // I5 to I8: the data that devices show.
        "link to a record lost", "base version lowered", "cursor goes back",
        // I9 to I13: the data that the server keeps.
        "last commit of a page skipped", "outbox row torn", "required reference cleared", "tombstone cleared",
        "uid given twice",
        // I14 to I19: resets, restores, identities, rejections, progress, and limits.
        "horizon moved too far", "space vacated without consent", "plain ignoresStoredLedger",
        "success recorded as rejection", "stop deadline ignored", "no wait between tries", "no limit to the outbox",
        // I21 to I25: access, stamps, and the feed.
        "record left behind", "stamps from the future", "batch kept in memory",
    ]
}
