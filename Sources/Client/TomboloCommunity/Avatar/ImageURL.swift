import SyncModel
import TomboloModeling

/// The rules for the URL of a picture, and the standard picture.
public enum ImageURL {
    /// A silhouette that can be shown without a network.
    public static let standard =
        "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'%20viewBox='0%200%208%208'%3E"
        + "%3Ccircle%20cx='4'%20cy='3'%20r='2'/%3E%3Cpath%20d='M0%208a4%203%200%200%201%208%200z'/%3E%3C/svg%3E"

    /// Allows pictures on the web, and files, such as the pictures of this machine's accounts. No allowed scheme lets a
    /// viewer execute code.
    static let rule = FieldRule.url(schemes: ["https", "http", "file"])
}
