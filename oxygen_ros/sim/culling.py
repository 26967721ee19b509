"""Leaves out of a picture what lies wholly outside the camera's view, which OpenGL would transform and then clip."""
import numpy as np

from oxygen_ros.sim.scene import mujoco

MARGIN_M = 1e-3


def can_cull(model):
    """Whether a thing outside the view leaves no trace in it: no shadow falls, nothing reflects."""
    return not model.light_castshadow.any() and not model.mat_reflectance.any()


def cull(scene, model, data, aspect):
    """
    Hide the geoms of an updated MjvScene whose bounding sphere is outside its camera's view; how many were hidden.

    `aspect` is width / height. The view is that of the mean of the scene's two cameras, as mjr_render draws it.
    """
    left, right = scene.camera
    forward, up = np.array(left.forward), np.array(left.up)
    sideways = np.cross(forward, up)
    eye = (np.array(left.pos) + np.array(right.pos)) / 2
    near, top, bottom = left.frustum_near, left.frustum_top, left.frustum_bottom
    half_width = left.frustum_width or aspect * (top - bottom) / 2
    # Planes through the eye with normals that point out of the view, in the axes (sideways, up, forward).
    planes = np.array([[0, near, -top], [0, -near, bottom], [near, 0, -half_width - left.frustum_center],
                       [-near, 0, -half_width + left.frustum_center]])
    planes /= np.linalg.norm(planes, axis=1, keepdims=True)
    seen = (data.geom_xpos - eye) @ np.array([sideways, up, forward]).T  # [G, 3]
    outside = (seen @ planes.T).max(axis=1)  # [G] distance beyond the farthest plane
    outside = np.maximum(outside, near - seen[:, 2])
    unseen = (outside > model.geom_rbound + MARGIN_M) & (model.geom_rbound > 0)  # a plane has no bound
    hidden = 0
    if unseen.any():
        for geom in scene.geoms[:scene.ngeom]:
            if geom.objtype == mujoco.mjtObj.mjOBJ_GEOM and unseen[geom.objid]:
                geom.type = mujoco.mjtGeom.mjGEOM_NONE
                hidden += 1
    return hidden
