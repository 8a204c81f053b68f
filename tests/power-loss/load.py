"""Works on a mount and says what is synchronized; and compares a mount with what was said.

    load.py write MOUNT COUNT DEVICE       # says COUNT things by marks in the log of this device (dm-log-writes)
    load.py check MOUNT MARKS              # a file with what was said, one a line

Each thread has a directory. What is said has the form THING,PATH,VERSION. Files and parts of files begin with
their path, version and length, and the rest follows from these. So every version is known from its contents.
"""

import fcntl, os, random, struct, sys, threading

THREADS = 4
SLOTS = 64
RECORD = 4096
TARGET_MESSAGE = 0xC138FD0E  # DM_TARGET_MSG of linux/dm-ioctl.h


def content(name, version, length):
    head = f"{name},{version},{length}\n".encode()
    return (head + random.Random(head).randbytes(length))[: max(length, len(head))]


def synchronize(path):
    file = os.open(path, os.O_RDONLY)
    os.fsync(file)
    os.close(file)


def mark(device, text):
    """Sends the device's driver the message that it logs as a mark."""
    message = struct.pack("Q", 0) + f"mark {text}\0".encode()
    head = struct.pack("10IQ128s136s", 4, 0, 0, 312 + len(message), 312, 0, 0, 0, 0, 0, 0, device.encode(), b"")
    with open("/dev/mapper/control", "rb") as control:
        fcntl.ioctl(control, TARGET_MESSAGE, head + message)


class Worker(threading.Thread):
    def __init__(self, mount, number, left, device):
        super().__init__()
        self.mount, self.top, self.left, self.device = mount, str(number), left, device
        self.draw = random.Random()
        self.directories = [self.top]
        self.files = []
        self.count = 0
        self.versions = {}

    def path(self, name):
        return os.path.join(self.mount, name)

    def say(self, thing, name, version=0):
        mark(self.device, f"{thing},{name},{version}")

    def run(self):
        try:
            self.make_directory(self.top)
            actions = [self.new_file] * 3 + [self.replace] * 3 + [self.append, self.overwrite] * 2
            actions += [self.remove, self.rename, self.new_directory]
            while next(self.left, None) is not None:
                self.draw.choice(actions)()
        except BaseException as error:
            print("FAIL load:", repr(error))
            raise

    def next_version(self, name):
        self.versions[name] = self.versions.get(name, -1) + 1
        return self.versions[name]

    def length(self):
        return self.draw.choice([100, 5000, 20000, 70000, 300000])

    def fill(self, name, version, as_name=None):
        with open(self.path(name), "wb") as file:
            file.write(content(as_name or name, version, self.length()))
            file.flush()
            os.fsync(file.fileno())

    def make_directory(self, name):
        os.mkdir(self.path(name))
        synchronize(os.path.dirname(self.path(name)))
        self.say("directory", name)

    def new_name(self, kind):
        self.count += 1
        return f"{self.draw.choice(self.directories)}/{kind}{self.count}"

    def new_directory(self):
        if len(self.directories) < 20:
            name = self.new_name("d")
            self.make_directory(name)
            self.directories.append(name)

    def new_file(self):
        name = self.new_name("f")
        self.fill(name, 0)
        self.say("file", name)
        self.files.append(name)

    def replace(self):
        name = f"{self.top}/current{self.draw.randrange(3)}"
        version = self.next_version(name)
        self.fill(self.top + "/new", version, name)
        os.rename(self.path(self.top + "/new"), self.path(name))
        synchronize(self.path(self.top))
        self.say("replaced", name, version)

    def append(self):
        name = f"{self.top}/log"
        version = self.next_version(name)
        with open(self.path(name), "ab") as file:
            file.write(content(name, version, RECORD)[:RECORD])
            file.flush()
            os.fsync(file.fileno())
        self.say("appended", name, version)

    def overwrite(self):
        name = f"{self.top}/slots"
        slot = f"{name}/{self.draw.randrange(SLOTS)}"
        version = self.next_version(slot)
        file = os.open(self.path(name), os.O_RDWR | os.O_CREAT)
        os.pwrite(file, content(slot, version, RECORD)[:RECORD], int(slot.rsplit("/")[-1]) * RECORD)
        os.fsync(file)
        os.close(file)
        self.say("slot", slot, version)

    def remove(self):
        if self.files:
            name = self.files.pop(self.draw.randrange(len(self.files)))
            self.say("removing", name)
            os.unlink(self.path(name))
            synchronize(os.path.dirname(self.path(name)))
            self.say("removed", name)

    def rename(self):
        if self.files:
            old = self.files.pop(self.draw.randrange(len(self.files)))
            new = f"{self.draw.choice(self.directories)}/{old.replace('/', '-')}"
            self.say("renaming", old, new)
            os.rename(self.path(old), self.path(new))
            synchronize(os.path.dirname(self.path(old)))
            synchronize(os.path.dirname(self.path(new)))
            self.say("renamed", old, new)


def version_of(name, data):
    """The version of a whole file or part."""
    head = data[: data.index(b"\n")].decode()
    said, version, length = head.split(",")
    assert said == name, f"{said} is in {name}"
    assert content(name, version, int(length)) == data, f"{name} is torn"
    return int(version)


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Check:
    def __init__(self, mount):
        self.mount = mount
        self.whole = {}  # Names of files that must be there, and the name in the contents.
        self.renaming = {}
        self.perhaps = {}  # Files that are being removed.
        self.gone = set()
        self.versions = {}
        self.directories = []

    def path(self, name):
        return os.path.join(self.mount, name)

    def hear(self, line):
        thing, name, version = line.split(",")
        match thing:
            case "directory":
                self.directories.append(name)
            case "file":
                self.whole[name] = name
            case "removing":
                self.perhaps[name] = self.whole.pop(name)
            case "removed":
                del self.perhaps[name]
                self.gone.add(name)
            case "renaming":
                self.renaming[name] = (version, self.whole.pop(name))
            case "renamed":
                new, contents = self.renaming.pop(name)
                self.gone.add(name)
                self.whole[new] = contents
            case _:
                self.versions[name] = (thing, int(version))

    def check(self):
        for name in self.directories:
            assert os.path.isdir(self.path(name)), f"{name} is missing"
        for name, contents in self.whole.items():
            version_of(contents, read(self.path(name)))
        for name, contents in self.perhaps.items():
            if os.path.exists(self.path(name)):
                version_of(contents, read(self.path(name)))
        for old, (new, contents) in self.renaming.items():
            there = [name for name in (old, new) if os.path.exists(self.path(name))]
            assert len(there) == 1, f"{there} of {old} and {new} are there"
            version_of(contents, read(self.path(there[0])))
        for name in self.gone:
            assert not os.path.exists(self.path(name)), f"{name} is there again"
        for name, (thing, version) in self.versions.items():
            self.check_version(name, thing, version)

    def check_version(self, name, thing, version):
        if thing == "replaced":
            found = version_of(name, read(self.path(name)))
            assert found >= version, f"{name} has version {found}, not {version}"
        elif thing == "slot":
            file, slot = name.rsplit("/", 1)
            found = version_of(name, read(self.path(file))[int(slot) * RECORD :][:RECORD])
            assert found >= version, f"{name} has version {found}, not {version}"
        else:
            data = read(self.path(name))
            for number in range(version + 1):
                found = version_of(name, data[number * RECORD :][:RECORD])
                assert found == number, f"{name} has {found} at {number}"


def write(mount, count, device):
    left = iter(range(int(count)))
    workers = [Worker(mount, number, left, device) for number in range(THREADS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(f"made {sum(worker.count for worker in workers)} files and directories")


def main():
    if sys.argv[1] == "write":
        return write(*sys.argv[2:])
    check = Check(sys.argv[2])
    with open(sys.argv[3]) as marks:
        lines = [line.strip() for line in marks if "," in line]
    for line in lines:
        check.hear(line)
    check.check()
    print(f"{len(lines)} acknowledgements, {len(check.whole)} files")


main()
