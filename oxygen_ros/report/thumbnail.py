"""Small JPEG of a picture."""
import cv2

WIDTH = 200


def thumbnail(message, width=WIDTH):
    """JPEG bytes of an image message (rclpy's or a bag's); ValueError where it is no colour picture."""
    from oxygen_ros.convert.images import to_rgb
    return small_jpeg(to_rgb(message), width)


def small_jpeg(rgb, width=WIDTH):
    """JPEG bytes, at most `width` wide, of RGB uint8 [h, w, 3]."""
    height = max(1, round(rgb.shape[0] * width / rgb.shape[1]))
    if rgb.shape[1] > width:
        rgb = cv2.resize(rgb, (width, height), interpolation=cv2.INTER_AREA)
    done, data = cv2.imencode('.jpg', rgb[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, 80])
    if not done:
        raise ValueError(f'a picture of shape {rgb.shape} cannot be written as JPEG')
    return data.tobytes()
