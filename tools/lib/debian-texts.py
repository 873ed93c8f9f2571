"""Writes texts of the Debian packages to standard output. See tools/package.

    debian-texts.py manual HELP VERSION DATE   the man page of a program; HELP is its --experimental-dump-help
    debian-texts.py settings HELP              the file of settings for a service, with a comment for each
    debian-texts.py licenses FOLDER RESOLVED TOOLCHAIN
        the licenses of the packages in FOLDER, whose versions are in RESOLVED, and of the Swift toolchain
"""

import json
import pathlib
import re
import sys
import textwrap


def roff(text):
    """Text as roff shows it unchanged."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in text.split("\n"))


def paragraphs(text):
    """A help text. Indented lines are tables, and keep their line breaks."""
    lines = []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        title, _, rest = block.partition("\n")
        if title.isupper():
            lines.append(f".SS {roff(title)}")
            block = rest
        if re.search(r"^ ", block, re.M):
            lines += [".PP", ".nf", roff(block), ".fi"]
        elif block:
            lines += [".PP", roff(block)]
    return lines


def shown(command, key):
    return [each for each in command.get(key, []) if each.get("shouldDisplay")]


def names(argument):
    """The spellings of an option or a flag, with its value: --folder folder."""
    words = ", ".join({"short": "-", "long": "--"}.get(name["kind"], "-") + name["name"] for name in argument["names"])
    value = f" \\fI{roff(argument['valueName'])}\\fR" if argument["kind"] == "option" else ""
    return f"\\fB{roff(words)}\\fR{value}"


def is_general(argument):
    return any(name["name"] in ("help", "version") for name in argument.get("names", []))


def arguments(command, known):
    """The arguments of a command that are not in `known`."""
    lines = []
    for argument in shown(command, "arguments"):
        if argument in known or is_general(argument):
            continue
        head = f"\\fI{roff(argument['valueName'])}\\fR" if argument["kind"] == "positional" else names(argument)
        lines += [".TP", head, roff(argument.get("abstract", ""))]
    return lines


def leaves(command, path=()):
    """All commands that do something, with their paths."""
    found = [each for each in shown(command, "subcommands") if each["commandName"] != "help"]
    if not found:
        yield path, command
    for each in found:
        yield from leaves(each, (*path, each["commandName"]))


def synopsis(path, command):
    words = [f"\\fB{roff(' '.join(path))}\\fR", "[\\fIOPTION\\fR...]"]
    for argument in shown(command, "arguments"):
        if argument["kind"] == "positional":
            word = f"\\fI{roff(argument['valueName'])}\\fR" + ("..." if argument["isRepeating"] else "")
            words.append(f"[{word}]" if argument["isOptional"] else word)
    return " ".join(words)


def manual(help_file, version, date):
    root = json.loads(pathlib.Path(help_file).read_text())["command"]
    name = root["commandName"]
    commands = list(leaves(root))
    # The options that most commands share are described once.
    common = [
        argument for argument in shown(commands[0][1], "arguments")
        if argument["kind"] != "positional" and not is_general(argument)
        and sum(argument in shown(command, "arguments") for _, command in commands) * 2 > len(commands)
    ]
    lines = [
        f'.TH {name.upper()} 1 "{date}" "Tombolo {version}" "User commands"', ".SH NAME",
        f"{name} \\- {roff(root['abstract'].rstrip('.').lower())}", ".SH SYNOPSIS",
        f"\\fB{name}\\fR [\\fICOMMAND\\fR] [\\fIARGUMENT\\fR...]", ".SH DESCRIPTION",
    ]
    lines += paragraphs(root.get("discussion", ""))
    if "defaultSubcommand" in root:
        lines += [".PP", f"Without a command, {name} runs \\fB{root['defaultSubcommand']}\\fR."]
    lines.append(".SH COMMANDS")
    settings = ""
    for path, command in commands:
        lines += [f".SS {synopsis(path, command)}", roff(command["abstract"])]
        discussion = command.get("discussion", "")
        if discussion.startswith("CONFIGURATION"):
            settings = discussion
        else:
            lines += paragraphs(discussion)
        lines += arguments(command, common)
    lines.append(".SH OPTIONS OF MOST COMMANDS")
    lines += arguments({"arguments": common}, [])
    lines += [".TP", "\\fB\\-h\\fR, \\fB\\-\\-help\\fR", "Show the help of a command."]
    lines += [".TP", "\\fB\\-\\-version\\fR", "Show the version."]
    if settings:
        lines.append(".SH CONFIGURATION")
        lines += paragraphs(settings.removeprefix("CONFIGURATION\n"))
    return "\n".join(lines) + "\n"


# The service sets this one.
OF_SERVICE = "authority.folder"


def settings(help_file):
    root = json.loads(pathlib.Path(help_file).read_text())["command"]
    discussion = next(command["discussion"] for path, command in leaves(root) if path == ("serve",))
    prefix = root["commandName"].upper() + "_"
    lines = [
        "# The settings of tombolo-server.service. After a change: systemctl restart tombolo-server",
        "#",
        "# Each line is NAME=VALUE. Put a value with spaces into single quotes.",
    ]
    for key, text in re.findall(r"^  ([a-z][a-z.-]*)\n((?:      .*\n?)+)", discussion, re.M):
        if key == OF_SERVICE:
            continue
        words = " ".join(text.split())
        default = re.search(r" Default: (.*)\.$", words)
        value = default[1] if default and " " not in default[1] else ""
        lines += ["", *textwrap.wrap(words, 98, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)]
        lines.append(f"#{prefix}{re.sub('[.-]', '_', key).upper()}={value}")
    return "\n".join(lines) + "\n"


APACHE = "Licensed under the Apache License, Version 2.0: see /usr/share/common-licenses/Apache-2.0"


def license_of(path):
    text = path.read_text()
    if "Apache License" not in text or "Version 2.0" not in text:
        return text.strip()
    _, title, exception = text.partition("## Runtime Library Exception")
    return f"{APACHE}\n\n{title}{exception}".strip()


def licenses(folder, resolved, toolchain):
    versions = {
        pin["identity"]: f"{pin['state'].get('version', pin['state']['revision'])}, {pin['location']}"
        for pin in json.loads(pathlib.Path(resolved).read_text())["pins"]
    }
    lines = []
    swift = pathlib.Path(toolchain, "share/swift")
    for package in [*sorted(path for path in pathlib.Path(folder).iterdir() if path.is_dir()), swift]:
        found = sorted(path for path in package.rglob("LICENSE*") if path.is_file() and "Tests" not in path.parts)
        if not found:
            sys.exit(f"{package} has no license")
        lines += ["", "-" * 80, f"{package.name} {versions.get(package.name, '')}".strip()]
        for path in found + sorted(package.glob("NOTICE*")):
            lines += ["", f"{path.relative_to(package)}:", "", license_of(path)]
    return "\n".join(lines) + "\n"


print({"manual": manual, "settings": settings, "licenses": licenses}[sys.argv[1]](*sys.argv[2:]), end="")
