extension Mutant {
    /// The names of the mutants that `tools/test` runs. Each should be found in the first world, in about a second, and
    /// together they cover each promise that worlds check. `tools/check` runs the others, except the rare ones.
    static let quick: Set<String> = [
        // I1 to I4: no write is lost, repeated, reordered, or left unconfirmed.
        "outbox counted as empty", "flushed commits lost", "outbox row lost", "journal entry lost",
        "outcome of another", "plain appliesRepeatsAgain",
        "outbox row edited after it was sent", "response invented", "plain reordersResponses",
        // I5 to I8: the data that devices show.
        "link to a record lost", "half a commit in the feed", "cursor runs ahead", "row of a page lost",
        "stale read", "acknowledged write not stored",
        "base version lowered", "field versions lost",
        "cursor goes back",
        // I9 to I13: the data that the server keeps.
        "feed rewritten", "plain hidesFeed", "last commit of a page skipped",
        "outbox row torn",
        "required reference cleared",
        "tombstone cleared",
        "uid given twice",
        // I14 to I19: resets, restores, identities, rejections, progress, and limits.
        "horizon moved too far", "reset forever",
        "space vacated without consent",
        "plain ignoresStoredLedger", "account of a push ignored", "ledger forgotten",
        "success recorded as rejection", "valid writes rejected",
        "stop deadline ignored", "no wait between tries", "response forgotten",
        "no limit to the outbox", "batch of any count",
        // I21 to I25: access, stamps, and the feed.
        "record left behind", "rules for readers alone",
        "stamps from the future",
        "batch kept in memory",
        "commit not in the feed", "head ahead of the feed",
    ]
}
