"""Broken messages: bytes that are nearly a message, and messages whose content is wrong."""
import struct

LITTLE_ENDIAN = b'\x00\x01\x00\x00'  # CDR representation of every ROS 2 message


def garbage(random, size=256):
    """Random bytes behind a valid CDR header, most of the time."""
    return (LITTLE_ENDIAN if random.random() < 0.8 else b'') + random.randbytes(random.randrange(size))


def mutate(random, data):
    """A serialised message with a few bytes changed, a length replaced, cut short or grown."""
    data = bytearray(data)
    for _ in range(random.randrange(1, 4)):
        way = random.randrange(5)
        if way == 0 and data:  # some bytes
            for _ in range(random.randrange(1, 8)):
                data[random.randrange(len(data))] = random.randrange(256)
        elif way == 1 and len(data) >= 8:  # a word, such as a length, becomes an extreme
            place = 4 * random.randrange(1, len(data) // 4)
            word = random.choice((0, 1, 0x7F, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF))
            data[place:place + 4] = struct.pack('<I', word)
        elif way == 2:
            del data[random.randrange(len(data) + 1):]
        elif way == 3:
            data += random.randbytes(random.randrange(32))
        elif len(data) >= 16:  # a double becomes one that is not finite, or huge
            place = 8 * random.randrange(1, len(data) // 8)
            number = random.choice((float('nan'), float('inf'), -float('inf'), 1e308, -0.0))
            data[place:place + 8] = struct.pack('<d', number)
    return bytes(data)


def any_of(random, samples):
    """Garbage, or a mutation of one of the sample messages."""
    return garbage(random) if random.random() < 0.2 else mutate(random, random.choice(samples))


def break_image(random, image):
    """Make a sensor_msgs/Image one that must be refused; every call breaks it in another way."""
    way = random.randrange(6)
    if way == 0:
        image.encoding = random.choice(('', '32FC1', '16UC1', 'hsv8', 'rgb99'))
    elif way == 1:
        image.step = image.width * 3 - random.randrange(1, image.width)
    elif way == 2:
        image.height = image.height * 2 + random.randrange(10)
    elif way == 3:
        image.width, image.height = 2**31 + random.randrange(9), 2**31
    elif way == 4:
        image.data = image.data[:random.randrange(len(image.data))]
    else:
        image.width = image.height = 0
    return image
